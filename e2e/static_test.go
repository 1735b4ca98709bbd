package e2e

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The shipped program needs nothing except a kernel: no loader, no shared library.
func TestStaticBinary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads ELF files")
	}
	f, err := elf.Open(filepath.Join(bin, "redline"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("redline asks for a dynamic loader")
		}
	}
	libs, err := f.ImportedLibraries()
	if err != nil || len(libs) > 0 {
		t.Errorf("redline needs shared libraries %v (%v)", libs, err)
	}
}

// It builds for every platform that a release is made for.
func TestOtherPlatforms(t *testing.T) {
	outcome.HeavyOnly(t, "the program compiles for macOS and Windows")
	for _, platform := range []string{"darwin/arm64", "windows/amd64"} {
		goos, goarch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "redline"), "./cmd/redline")
		cmd.Dir = binary.Root()
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", platform, err, out)
		}
	}
}
