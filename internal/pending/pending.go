// Package pending creates all files that the program leaves for the user.
//
// A file appears when it is complete. Until then the data is in a temporary file beside it, so that a folder without write
// permission is found before anything is measured, and a reader sees the old content or the new, never a part. An existing
// file keeps its mode, its owner and its links; a new file gets the mode of the umask. Devices, pipes and descriptors, such as
// /dev/stdout, receive the data when it is complete.
//
// The secrets of the process are replaced in all text.
package pending

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/redline-bench/redline/internal/secret"
)

var (
	errFolder = errors.New("it is a folder")
	// ErrInterrupted means that an interrupt ended a write to a pipe without a reader.
	ErrInterrupted = errors.New("interrupted while nothing reads from it")
)

// Output creates the files of a process. A nil Output replaces no secrets and cannot be interrupted.
type Output struct {
	secrets *secret.Set
	stop    chan struct{}
	once    sync.Once

	mu        sync.Mutex
	temporary map[string]struct{} // names of the temporary files that exist
}

// New makes an Output that replaces secrets.
func New(secrets *secret.Set) *Output { return &Output{secrets: secrets, stop: make(chan struct{})} }

// Interrupt ends writes to pipes that nothing reads.
func (o *Output) Interrupt() {
	if o != nil {
		o.once.Do(func() { close(o.stop) })
	}
}

// Interrupted is closed by Interrupt. A nil Output has none.
func (o *Output) Interrupted() <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.stop
}

// Discard removes all temporary files. The process must end after it: incomplete files are lost.
func (o *Output) Discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name := range o.temporary {
		_ = os.Remove(name) // the process ends; an error cannot be reported
	}
}

// Secrets are the values that are replaced in files.
func (o *Output) Secrets() *secret.Set {
	if o == nil {
		return nil
	}
	return o.secrets
}

// File is a file that appears at Commit.
type File struct {
	out  *Output
	path string // as the user gave it
	to   target
	data store          // nil after Commit and Abort
	text *secret.Writer // before data; nil for binary files
}

// store keeps the data of a file until it is complete.
type store interface {
	io.Writer
	// content reads everything from the beginning.
	content() (io.Reader, error)
	// discard removes the data.
	discard()
}

// Create begins a text file at path. The error does not name the path.
func (o *Output) Create(path string) (*File, error) {
	f, err := o.CreateBinary(path)
	if err == nil {
		f.text = o.Secrets().Writer(f.data)
	}
	return f, err
}

// CreateBinary is Create for a binary format, which replacing secrets would damage. The caller replaces secrets in the texts
// that it encodes.
func (o *Output) CreateBinary(path string) (*File, error) {
	to, err := resolve(path)
	if err != nil {
		return nil, cause(err)
	}
	f := &File{out: o, path: path, to: to}
	switch {
	case to.info != nil && to.info.IsDir():
		return nil, errFolder
	case to.through():
		f.data = &spool{out: o}
		return f, cause(to.probe())
	case to.info != nil:
		if err := to.probe(); err != nil {
			return nil, cause(err)
		}
	}
	beside, err := to.beside(o)
	switch {
	case err == nil:
		f.data = beside
	case to.info != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		f.data = &spool{out: o} // the file is writable, its folder is not
	default:
		return nil, cause(err)
	}
	return f, nil
}

// cause is an error without the name of a temporary file.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Check reports whether a file can be created at path. It leaves nothing behind.
func (o *Output) Check(path string) error {
	f, err := o.CreateBinary(path)
	if err == nil {
		f.Abort()
	}
	return err
}

// Writable returns an error for the first file that cannot be written, before the run; an empty path is fine. It leaves nothing behind.
func (o *Output) Writable(paths ...string) error {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := o.Check(path); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
	}
	return nil
}

// WriteFile creates a text file with this content.
func (o *Output) WriteFile(path string, content []byte) error { return write(o.Create, path, content) }

// WriteBinary is WriteFile for content in which the caller has replaced the secrets.
func (o *Output) WriteBinary(path string, content []byte) error {
	return write(o.CreateBinary, path, content)
}

func write(create func(path string) (*File, error), path string, content []byte) error {
	f, err := create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := f.Write(content); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// CheckAppend reports whether AppendFile can work. It leaves nothing behind.
func (o *Output) CheckAppend(path string) error {
	to, err := resolve(path)
	switch {
	case err != nil:
		return cause(err)
	case to.info == nil && to.fd < 0:
		return o.Check(path)
	case to.info != nil && to.info.IsDir():
		return errFolder
	}
	return cause(to.probe())
}

// AppendFile appends a text to a file that other programs append to as well, or creates it.
func (o *Output) AppendFile(path string, content []byte) error {
	to, err := resolve(path)
	if err == nil {
		err = o.pass(to, os.O_APPEND|os.O_CREATE, bytes.NewReader(o.Secrets().RedactBytes(content)))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// Log is a text file that others read while it is written.
type Log struct {
	file *os.File
	text *secret.Writer
}

// CreateLog creates an empty log, or empties an existing one.
func (o *Output) CreateLog(path string) (*Log, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &Log{f, o.Secrets().Writer(f)}, nil
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) { return l.text.Write(b) }

// Close implements io.Closer.
func (l *Log) Close() error { return errors.Join(l.text.Flush(), l.file.Close()) }

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if f.data == nil {
		return 0, f.named(fs.ErrClosed)
	}
	if f.text != nil {
		n, err := f.text.Write(b)
		return n, f.named(err)
	}
	n, err := f.data.Write(b)
	return n, f.named(err)
}

// Content returns a reader of the written data. Nothing may be written after it.
func (f *File) Content() (io.Reader, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	r, err := f.data.content()
	return r, f.named(err)
}

func (f *File) flush() error {
	if f.text == nil {
		return nil
	}
	return f.named(f.text.Flush())
}

// named adds the path to an error.
func (f *File) named(err error) error {
	if err == nil {
		return nil
	}
	op := "write"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		op, err = e.Op, e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		op, err = e.Op, e.Err
	}
	return &fs.PathError{Op: op, Path: f.path, Err: err}
}

// Path is where the file will be.
func (f *File) Path() string { return f.path }

// Done reports whether the file has been committed or aborted.
func (f *File) Done() bool { return f.data == nil }

// Commit puts the file in place. After an error the old file, if there was one, is still there.
func (f *File) Commit() error {
	if f.data == nil {
		return f.named(fs.ErrClosed)
	}
	err := f.flush()
	if beside, ok := f.data.(*temporary); ok && err == nil {
		err = beside.rename(f.to)
		if err == nil {
			f.data = nil
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) { // a file that is a mount point cannot be replaced
			f.Abort()
			return f.named(err)
		}
		err = nil
	}
	var content io.Reader
	if err == nil {
		content, err = f.data.content()
	}
	if err == nil {
		err = f.out.pass(f.to, os.O_TRUNC, content)
	}
	f.Abort()
	return f.named(err)
}

// Abort removes the data. After Commit it does nothing.
func (f *File) Abort() {
	if f == nil || f.data == nil {
		return
	}
	f.data.discard()
	f.data = nil
}

// newTemporary creates a file with a name that cannot be guessed.
func (o *Output) newTemporary(dir string, mode fs.FileMode) (*temporary, error) {
	f, err := os.OpenFile(filepath.Join(dir, ".redline-"+rand.Text()+".tmp"), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.temporary == nil {
			o.temporary = map[string]struct{}{}
		}
		o.temporary[f.Name()] = struct{}{}
	}
	return &temporary{f, o}, nil
}

// gone forgets a temporary file that no longer exists.
func (o *Output) gone(name string) {
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.temporary, name)
	}
}
