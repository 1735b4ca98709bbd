package shm

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// dir is where the C library's shm_open searches for the object of a key.
	dir = "/dev/shm"
	// prefix opens the file name of every object of ours.
	prefix = "redline-"
	// maxName is the longest file name.
	maxName = 255
)

// system is a mapped object. Its file stays open for the lock, which shows that its process runs.
type system struct {
	file *os.File
	data []byte
}

func createSystem(name string, size int) (string, memory, error) {
	base := fileName(name)
	file, err := createLocked(filepath.Join(dir, base))
	if err != nil {
		return "", nil, err
	}
	data, err := allocate(file, size)
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(file.Name()), file.Close())
	}
	return "/" + base, &system{file: file, data: data}, nil
}

// fileName is the object's name for a region of this process. A name that is too long keeps its start and gets a hash.
func fileName(name string) string {
	base := prefix + strconv.Itoa(os.Getpid()) + "-" + clean(name)
	if len(base) <= maxName {
		return base
	}
	h := fnv.New64a()
	h.Write([]byte(base))
	return fmt.Sprintf("%s-%016x", base[:maxName-17], h.Sum64())
}

// createLocked makes a new object and locks it. It replaces an object of that name without a lock, which a dead process with
// the same id has left.
func createLocked(path string) (*os.File, error) {
	for range 10 {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			if !removeUnlocked(path) {
				return nil, fmt.Errorf("%s exists already and is in use", path)
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		// Another process's RemoveStale may have come between the two calls: then the object has no name any more.
		if lock(file, unix.LOCK_SH) && linked(file) {
			return file, nil
		}
		file.Close()
	}
	return nil, fmt.Errorf("another process keeps removing %s", path)
}

func allocate(file *os.File, size int) ([]byte, error) {
	// Without reserved pages a full /dev/shm would end the process by SIGBUS at the first write.
	err := retry(func() error { return unix.Fallocate(int(file.Fd()), 0, 0, int64(size)) })
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		if err := file.Truncate(int64(size)); err != nil {
			return nil, err
		}
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return nil, fmt.Errorf("no room for %d bytes in %s: make it larger (docker: --shm-size) or send less data: %w", size, dir, err)
	case err != nil:
		return nil, fmt.Errorf("reserve %d bytes in %s: %w", size, dir, err)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of %s: %w", size, file.Name(), err)
	}
	return data, nil
}

func (s *system) bytes() []byte { return s.data }

func (s *system) write(off int, data []byte) error {
	copy(s.data[off:], data)
	return nil
}

func (s *system) read(off int, dst []byte) error {
	copy(dst, s.data[off:])
	return nil
}

func (s *system) close() error {
	err := unix.Munmap(s.data)
	if gone := os.Remove(s.file.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, s.file.Close())
}

// RemoveStale removes the objects that crashed runs left behind, and returns their keys. It keeps objects of running processes,
// also of those in other containers with the same /dev/shm.
func RemoveStale() []string {
	// Only names are needed; a file that disappears meanwhile is not an error.
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	var keys []string
	for _, path := range paths {
		base := filepath.Base(path)
		pid, _, ok := strings.Cut(strings.TrimPrefix(base, prefix), "-")
		if _, err := strconv.Atoi(pid); ok && err == nil && removeUnlocked(path) {
			keys = append(keys, "/"+base)
		}
	}
	return keys
}

// removeUnlocked removes an object of ours that no process has locked, and reports whether it did.
func removeUnlocked(path string) bool {
	// O_NOFOLLOW and the check: other users may write to the folder.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return lock(file, unix.LOCK_EX) && linked(file) && os.Remove(path) == nil
}

func lock(file *os.File, how int) bool {
	return retry(func() error { return unix.Flock(int(file.Fd()), how|unix.LOCK_NB) }) == nil
}

// linked reports whether the file still has its name.
func linked(file *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(file.Fd()), &st) == nil && st.Nlink > 0
}

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
