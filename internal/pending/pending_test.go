package pending_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/pending"
)

func TestAFileAppearsWhenItIsComplete(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	f, err := pending.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is complete")
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort() // does nothing any more
	if text, err := os.ReadFile(path); err != nil || string(text) != "x" || !f.Done() {
		t.Errorf("%q %v", text, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

func TestAnAbortedFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := pending.Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := pending.Create(dir); err == nil {
		t.Error("a folder was taken for a file")
	}
	if _, err := pending.Create(filepath.Join(dir, "none", "a")); err == nil {
		t.Error("a folder that is not there was written to")
	}
}

func TestAnErrorNamesTheFileThatTheUserKnows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f, err := pending.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // something takes the place in the meantime
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), " "+path+": ") {
		t.Errorf("commit: %v", err)
	}
	if f, err = pending.Create(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "b")+":") {
		t.Errorf("write: %v", err)
	}
}
