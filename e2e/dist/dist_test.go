//go:build linux

// Package dist installs and starts what `make dist` and `make wheel` write, as a user would, and holds that two builds are equal.
package dist

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// What the tests call the release.
const (
	version = "v0.9.8"
	commit  = "0123456789abcdef0123456789abcdef01234567"
	epoch   = "1767225600" // 2026-01-01
)

// parts are the parts of a release that need no other program.
var parts = []string{"archives", "image", "wheels"}

// out is the folder of the release of this machine's platform, which made makes once.
var out string

var made = sync.OnceValue(func() error { return releaseOf(binary.Root(), out, here(), nil, available()...) })

// here is this machine's platform.
func here() string { return runtime.GOOS + "/" + runtime.GOARCH }

// available are the parts that can be made on this machine.
func available() []string {
	if nfpm() != nil {
		return parts
	}
	return append(slices.Clip(parts), "packages")
}

// nfpm is why packages cannot be made.
var nfpm = sync.OnceValue(func() error {
	out, err := exec.Command(filepath.Join(binary.Root(), "scripts", "nfpm.sh")).CombinedOutput()
	if err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
})

// releaseOf makes parts of a release of a source tree.
func releaseOf(tree, out, platforms string, env []string, parts ...string) error {
	args := []string{"run", "-C", filepath.Join(tree, "tools"), "./release", "-dir", tree, "-out", out, "-version", version, "-commit", commit, "-platforms", platforms}
	cmd := exec.Command("go", append(args, parts...)...)
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH="+epoch), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the release: %w\n%s", err, text)
	}
	return nil
}

func TestMain(m *testing.M) {
	var err error
	if out, err = os.MkdirTemp("", "redline-dist-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(out)
	os.Exit(code)
}

// folder is the folder of the release.
func folder(t *testing.T) string {
	t.Helper()
	if err := made(); err != nil {
		t.Fatal(err)
	}
	return out
}

// find returns the only file of the release that fits a pattern.
func find(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder(t), pattern))
	if err != nil || len(list) != 1 {
		t.Fatalf("%d files fit %s (%v)", len(list), pattern, err)
	}
	return list[0]
}

// SHA256SUMS has every other file of the release.
func TestChecksums(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	sums := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(dir, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		sums[name] = sum
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dir, e.Name())))); sums[e.Name()] != got {
			t.Errorf("%s: SHA256SUMS has %q, the file has %s", e.Name(), sums[e.Name()], got)
		}
	}
	if len(sums) != len(entries)-1 {
		t.Errorf("SHA256SUMS has %d files, the folder has %d others", len(sums), len(entries)-1)
	}
}

// The archive has the program, the manual and all licenses in one folder.
func TestArchive(t *testing.T) {
	t.Parallel()
	path := find(t, "*.tar.gz")
	root := t.TempDir()
	unpack(t, root, gunzip(t, read(t, path)))
	dir := filepath.Join(root, strings.TrimSuffix(filepath.Base(path), ".tar.gz"))
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "docs/measuring.md", "man/man1/redline-profile.1", "completions/_redline"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	out := run(t, filepath.Join(dir, "redline"), "version", "--json")
	for _, want := range []string{version, commit} {
		if !strings.Contains(out, want) {
			t.Errorf("redline version --json lacks %s:\n%s", want, out)
		}
	}
	if out := run(t, filepath.Join(dir, "perf_analyzer"), "--version"); !strings.Contains(out, "Perf Analyzer Version") {
		t.Errorf("perf_analyzer --version prints\n%s", out)
	}
	notices := string(read(t, filepath.Join(dir, "THIRD_PARTY_NOTICES.txt")))
	for _, want := range []string{"Leon Sorokin", "The Go Authors", "google.golang.org/grpc"} {
		if !strings.Contains(notices, want) {
			t.Errorf("the notices lack %q", want)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// run runs a program that must succeed and returns what it prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	return must(t, exec.CommandContext(t.Context(), name, args...))
}

// must runs a command that must succeed and returns what it prints.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpackedProgram is redline, from the archive of this platform.
func unpackedProgram(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	unpack(t, root, gunzip(t, read(t, find(t, "*.tar.gz"))))
	programs, err := filepath.Glob(filepath.Join(root, "*", "redline"))
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	return programs[0]
}

// unpack writes the files of a tar file below a folder.
func unpack(t *testing.T, root string, data []byte) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, h.FileInfo().Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// install returns the path of a program that a function installs, or ends the test.
func install(t *testing.T, how func(context.Context) (string, error), missing func(error)) string {
	t.Helper()
	path, err := how(t.Context())
	if err != nil {
		missing(err)
	}
	return path
}
