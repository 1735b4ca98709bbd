package pending

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// target is the place that the data of a file is written to.
type target struct {
	path string      // at the end of all links
	info fs.FileInfo // nil if there is no file yet
	fd   int         // descriptor of this process, such as that of /dev/stdout; else -1
}

// resolve follows the links of a path to the file, which need not exist.
func resolve(path string) (target, error) {
	const mostLinks = 40
	for range mostLinks {
		dir, base := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(filepath.Clean(dir))
		if err != nil {
			return target{}, err
		}
		if fd, ok := descriptor(dir, base); ok {
			return target{path: path, fd: fd}, nil
		}
		path = filepath.Join(dir, base)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return target{path: path, fd: -1}, nil
		case err != nil:
			return target{}, err
		case info.Mode()&fs.ModeSymlink == 0:
			return target{path: path, info: info, fd: -1}, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return target{}, err
		}
		if path = link; !filepath.IsAbs(link) {
			path = filepath.Join(dir, link)
		}
	}
	return target{}, syscall.ELOOP
}

// descriptor reads the path of a descriptor of this process.
func descriptor(dir, base string) (int, bool) {
	if dir != "/dev/fd" && dir != "/proc/"+strconv.Itoa(os.Getpid())+"/fd" {
		return 0, false
	}
	fd, err := strconv.Atoi(base)
	return fd, err == nil
}

// through reports whether the data is written to an existing device, pipe or descriptor.
func (t *target) through() bool { return t.fd >= 0 || t.info != nil && !t.info.Mode().IsRegular() }

// probe opens the existing target and closes it again. It does not open a pipe, whose reader would see the end of the data.
func (t *target) probe() error {
	if t.fd < 0 && t.info.Mode()&fs.ModeNamedPipe != 0 {
		return nil
	}
	f, err := t.open(0)
	if err != nil {
		return err
	}
	return f.Close()
}

// open opens the existing target for writing.
func (t *target) open(flags int) (*os.File, error) {
	if t.fd >= 0 {
		return duplicate(t.fd)
	}
	return os.OpenFile(t.path, os.O_WRONLY|flags, 0o666)
}

// beside creates the temporary file of a target. It has the mode and the owner of the file that it will replace.
func (t *target) beside(o *Output) (*temporary, error) {
	mode := fs.FileMode(0o666)
	if t.info != nil {
		mode = t.info.Mode().Perm()
	}
	f, err := o.newTemporary(filepath.Dir(t.path), mode)
	if err != nil {
		return nil, err
	}
	if t.info != nil {
		keepOwner(f.File, t.info)
		if err := f.Chmod(mode); err != nil {
			f.discard()
			return nil, err
		}
	}
	return f, nil
}

// Grace is how long, after an interrupt, the reader of a pipe has to take the data.
const Grace = 2 * time.Second

// pass writes content to the existing target. An interrupt ends the write if nothing reads.
func (o *Output) pass(t target, flags int, content io.Reader) error {
	done := make(chan error, 1)
	go func() {
		f, err := t.open(flags)
		if err == nil {
			_, err = io.Copy(f, content)
			err = errors.Join(err, f.Close())
		}
		done <- err
	}()
	var stop <-chan struct{}
	if o != nil {
		stop = o.stop
	}
	select {
	case err := <-done:
		return err
	case <-stop:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(Grace):
		return ErrInterrupted
	}
}
