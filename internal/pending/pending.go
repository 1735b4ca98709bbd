// Package pending writes files that appear when they are complete. Until then the data lies in a temporary file
// beside the place, so that a folder that cannot be written to is known before anything is measured.
package pending

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// errFolder is what stands in the way of a file.
var errFolder = errors.New("it is a folder")

// File is a file that is not there yet.
type File struct {
	*os.File // nil after Commit and Abort
	path     string
}

// Create begins a file at path. The error does not name the path.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, errFolder
	}
	dir, base := filepath.Split(path)
	f, err := os.OpenFile(fmt.Sprintf("%s.%s.%d.tmp", dir, base, os.Getpid()), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o666)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err // the temporary file's name would only confuse
		}
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, f.named(err)
}

// named puts the name that the user knows into an error: the temporary file's would only confuse.
func (f *File) named(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
	}
	return err
}

// Path is where the file will be.
func (f *File) Path() string { return f.path }

// Done tells whether the file has been committed or aborted.
func (f *File) Done() bool { return f.File == nil }

// Commit puts the file in place. An error leaves none.
func (f *File) Commit() error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		f.Abort()
		return f.named(err)
	}
	f.File = nil
	return nil
}

// Abort removes what was written. After Commit it does nothing.
func (f *File) Abort() {
	if f == nil || f.File == nil {
		return
	}
	_ = f.Close() // its data is unwanted
	_ = os.Remove(f.Name())
	f.File = nil
}
