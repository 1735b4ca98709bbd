//go:build linux

package dist

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

func sum(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// Two releases of one source, made in two folders, are equal byte by byte. Both use this user's build cache: the test shows
// that neither the folder nor the time nor the order of files gets into linked programs, archives and packages. That compiled
// packages are equal too is shown by TestEqualWithoutCache.
func TestEqualInAnotherFolder(t *testing.T) {
	t.Parallel()
	t.Run("archives", func(t *testing.T) {
		second := t.TempDir()
		if err := releaseOf(copyTree(t), second, here(), nil, "archives"); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, folder(t), second, "SHA256SUMS") // the sums of the first release are those of all its parts
	})
	t.Run("all parts", func(t *testing.T) {
		outcome.HeavyOnly(t, "a second release, with packages, image and wheels")
		second := t.TempDir()
		if err := releaseOf(copyTree(t), second, here(), nil, available()...); err != nil {
			t.Fatal(err)
		}
		sameCount(t, folder(t), second)
		sameFiles(t, folder(t), second)
	})
}

// The release is equal where everything is compiled anew in another folder, with one job at a time, from an empty cache.
func TestEqualWithoutCache(t *testing.T) {
	outcome.HeavyOnly(t, "a build without a build cache is equal byte by byte")
	second := t.TempDir()
	other := []string{"GOCACHE=" + t.TempDir(), "GOMAXPROCS=1", "TZ=Asia/Tokyo", "LC_ALL=C", "HOME=" + t.TempDir(), "GOMODCACHE=" + env(t, "GOMODCACHE")}
	if err := releaseOf(copyTree(t), second, here(), other, parts...); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, folder(t), second, "SHA256SUMS") // the sums of the first release are those of its packages, too
}

// sameCount holds that two folders have the same number of files.
func sameCount(t *testing.T, first, second string) {
	t.Helper()
	a, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadDir(second)
	if err != nil || len(a) != len(b) {
		t.Fatalf("%d files and %d files (%v)", len(a), len(b), err)
	}
}

// sameFiles holds that the files of the second folder are equal to those of the first one, except for files of some names.
func sameFiles(t *testing.T, first, second string, except ...string) {
	t.Helper()
	list, err := os.ReadDir(second)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, e := range list {
		if slices.Contains(except, e.Name()) {
			continue
		}
		compared++
		if !bytes.Equal(read(t, filepath.Join(first, e.Name())), read(t, filepath.Join(second, e.Name()))) {
			t.Errorf("%s differs", e.Name())
		}
	}
	if compared == 0 {
		t.Errorf("no file of %d was compared", len(list))
	}
}

// copyTree copies the files of the source tree, without its repository, to another folder.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = binary.Root()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(binary.Root(), name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		mkdir(t, filepath.Dir(to))
		if err := os.WriteFile(to, read(t, filepath.Join(binary.Root(), name)), info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func env(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(run(t, "go", "env", name))
}
