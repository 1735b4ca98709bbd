//go:build unix

package pending_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/testkit"
)

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestTheUmaskHoldsForNewFiles(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	f := create(t, nil, filepath.Join(dir, "a"), "x")
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	mode(t, filepath.Join(dir, list[0].Name()), 0o600)
	commit(t, f)
	mode(t, filepath.Join(dir, "a"), 0o600)
	syscall.Umask(0o022)
	commit(t, create(t, nil, filepath.Join(dir, "b"), "x"))
	mode(t, filepath.Join(dir, "b"), 0o644)
}

func TestAFileKeepsItsMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "a")
	for _, m := range []fs.FileMode{0o666, 0o640, 0o600} {
		write(t, path, "old", m)
		commit(t, create(t, nil, path, "new"))
		holds(t, path, "new", 1)
		mode(t, path, m)
	}
}

func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "folder", "real")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"one": "two", "two": "folder/real"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"a link to nothing makes the file", "a link to a file replaces its content"} {
		f := create(t, nil, filepath.Join(dir, "one"), text)
		commit(t, f)
		holds(t, file, text, 1)
		mode(t, filepath.Join(dir, "one"), fs.ModeSymlink|0o777)
		mode(t, filepath.Join(dir, "two"), fs.ModeSymlink|0o777)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	var o *pending.Output
	if err := o.Check(filepath.Join(dir, "loop")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The reader of a pipe sees the data and then its end: looking at the pipe before must not end it.
func TestAPipeGetsEverythingAtOnce(t *testing.T) {
	path := fifo(t)
	got := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(path)
		got <- fmt.Sprint(string(text), err)
	}()
	var o *pending.Output
	if err := errors.Join(o.Check(path), o.CheckAppend(path)); err != nil {
		t.Fatal(err)
	}
	large := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<20)) // more than fits into memory, or into a pipe
	f := create(t, nil, path, large[:1000])
	if _, err := io.WriteString(f, large[1000:]); err != nil {
		t.Fatal(err)
	}
	commit(t, f)
	if text := <-got; text != large+"<nil>" {
		t.Errorf("%d bytes, want %d", len(text), len(large))
	}
	mode(t, path, fs.ModeNamedPipe|0o600)
}

func TestAPipeWithoutAReaderEndsWithAnInterrupt(t *testing.T) {
	for name, read := range map[string]bool{"nothing opens it": false, "nothing reads from it": true} {
		t.Run(name, func(t *testing.T) {
			path := fifo(t)
			o := pending.New(nil)
			f := create(t, o, path, string(make([]byte, 1<<20)))
			if read {
				r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
			}
			done := make(chan error, 1)
			go func() { done <- f.Commit() }()
			select {
			case err := <-done:
				t.Fatalf("it did not wait: %v", err)
			case <-time.After(50 * time.Millisecond):
			}
			o.Interrupt()
			select {
			case err := <-done:
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(testkit.Limit):
				t.Fatal("it does not end")
			}
		})
	}
}

// /dev/stdout is a descriptor of this process: the data goes behind what was written there before.
func TestADescriptorIsWrittenThrough(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("there is no /dev/fd")
	}
	path := filepath.Join(t.TempDir(), "out")
	stdout, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	if _, err := stdout.WriteString("before "); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink(fmt.Sprintf("/dev/fd/%d", stdout.Fd()), link); err != nil {
		t.Fatal(err)
	}
	var o *pending.Output
	if err := o.Check(link); err != nil {
		t.Fatal(err)
	}
	f := create(t, nil, link, "data ")
	holds(t, path, "before ", 1)
	commit(t, f)
	if _, err := stdout.WriteString("after"); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "before data after", 1)
	mode(t, link, fs.ModeSymlink|0o777)
	if err := o.Check("/dev/fd/9999"); err == nil {
		t.Error("a descriptor that is not there was accepted")
	}
}

func TestAFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "full")
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	if err := create(t, nil, link, "x").Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	mode(t, link, fs.ModeSymlink|0o777)
}

// A file that may be written in a folder that may not is overwritten in place.
func TestAFolderThatMayNotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write to every folder")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write(t, path, "something long", 0o600)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	f := create(t, nil, path, "new")
	holds(t, path, "something long", 1)
	commit(t, f)
	holds(t, path, "new", 1)
	var o *pending.Output
	if err := o.Check(filepath.Join(dir, "b")); err == nil {
		t.Error("a new file was accepted")
	}
}
