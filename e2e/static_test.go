package e2e

import (
	"debug/elf"
	"path/filepath"
	"runtime"
	"testing"
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
