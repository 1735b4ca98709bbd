//go:build linux

package dist

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	second := t.TempDir()
	if err := releaseOf(copyTree(t), second, here(), nil, available()...); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, folder(t), second)
}

// The release is equal where everything is compiled anew in another folder, with one job at a time, from an empty cache.
func TestEqualWithoutCache(t *testing.T) {
	outcome.HeavyOnly(t, "two builds without a build cache are byte-identical")
	first, second := t.TempDir(), t.TempDir()
	const platforms = "linux/amd64,linux/arm64,darwin/arm64,windows/amd64"
	if err := releaseOf(binary.Root(), first, platforms, []string{"GOCACHE=" + t.TempDir()}, parts...); err != nil {
		t.Fatal(err)
	}
	other := []string{"GOCACHE=" + t.TempDir(), "GOMAXPROCS=1", "TZ=Asia/Tokyo", "LC_ALL=C", "HOME=" + t.TempDir(), "GOMODCACHE=" + env(t, "GOMODCACHE")}
	if err := releaseOf(copyTree(t), second, platforms, other, parts...); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, first, second)
}

// sameFiles holds that two folders have the same files.
func sameFiles(t *testing.T, first, second string) {
	t.Helper()
	a, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadDir(second)
	if err != nil || len(a) != len(b) {
		t.Fatalf("%d files and %d files (%v)", len(a), len(b), err)
	}
	for _, e := range a {
		if !bytes.Equal(read(t, filepath.Join(first, e.Name())), read(t, filepath.Join(second, e.Name()))) {
			t.Errorf("%s differs", e.Name())
		}
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
