package pending_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/secret"
)

// create begins a file that must be possible.
func create(t *testing.T, o *pending.Output, path, text string) *pending.File {
	t.Helper()
	f, err := o.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	return f
}

func commit(t *testing.T, f *pending.File) {
	t.Helper()
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
}

// holds checks the content of a file and that the folder has as many files as named.
func holds(t *testing.T, path, want string, files int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(text)); d != "" {
		t.Error(d)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != files {
		t.Errorf("files %v, want %d; %v", list, files, err)
	}
}

func TestAFileAppearsWhenItIsComplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	f := create(t, nil, path, "x")
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before it is complete")
	}
	commit(t, f)
	f.Abort() // does nothing any more
	if !f.Done() {
		t.Error("the file is not done")
	}
	holds(t, path, "x", 1)
	f = create(t, nil, path, "y")
	holds(t, path, "x", 2)
	commit(t, f)
	holds(t, path, "y", 1)
}

func TestAnAbortedFileLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	create(t, nil, filepath.Join(dir, "a"), "x").Abort()
	var o *pending.Output
	if err := o.Check(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if err := o.Check(dir); err == nil {
		t.Error("a folder was taken for a file")
	}
	if err := o.Check(filepath.Join(dir, "none", "a")); err == nil {
		t.Error("a folder that is not there was written to")
	}
}

func TestAnErrorNamesTheFileThatTheUserKnows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f := create(t, nil, path, "x")
	if err := os.Mkdir(path, 0o700); err != nil { // something takes the place in the meantime
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), " "+path+": ") {
		t.Errorf("commit: %v", err)
	}
	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), path+":") {
		t.Errorf("write: %v", err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left behind: %v %v", list, err)
	}
}

// Two runs may write to the same place: each has a temporary file of its own, and the later one wins.
func TestTwoWritersOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	a, b := create(t, nil, path, "first"), create(t, nil, path, "second")
	commit(t, a)
	holds(t, path, "first", 2)
	commit(t, b)
	holds(t, path, "second", 1)
}

func TestSecretsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	var s secret.Set
	s.Add("SECRET-KEY")
	o := pending.New(&s)
	f := create(t, o, filepath.Join(dir, "a"), "x SECRET")
	if _, err := io.WriteString(f, "-KEY y"); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	holds(t, filepath.Join(dir, "a"), "x *** y", 1)
	if err := o.AppendFile(filepath.Join(dir, "a"), []byte(" SECRET-KEY")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "a"), "x *** y ***", 1)
	if err := o.WriteFile(filepath.Join(dir, "a"), []byte("SECRET-KEY")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "a"), "***", 1)
}

func TestContentIsReadBack(t *testing.T) {
	f := create(t, nil, filepath.Join(t.TempDir(), "a"), "text")
	defer f.Abort()
	r, err := f.Content()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !bytes.Equal(text, []byte("text")) {
		t.Errorf("%q %v", text, err)
	}
}

// A process that ends at once removes what is not complete, and nothing else.
func TestDiscardRemovesIncompleteFiles(t *testing.T) {
	dir := t.TempDir()
	o := pending.New(nil)
	commit(t, create(t, o, filepath.Join(dir, "complete"), "text"))
	create(t, o, filepath.Join(dir, "incomplete"), "te")
	o.Discard()
	holds(t, filepath.Join(dir, "complete"), "text", 1)
}
