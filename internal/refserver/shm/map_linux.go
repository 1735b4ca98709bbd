package shm

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// mapKey opens what shm_open would open and maps it.
func mapKey(name, key string, offset, size uint64) (memory, error) {
	base := strings.TrimPrefix(key, "/")
	if strings.ContainsRune(base, '/') || base == ".." {
		return nil, infer.Errorf(infer.Internal, "Unable to open shared memory region: '%s'", key)
	}
	file, err := os.OpenFile(filepath.Join("/dev/shm", base), os.O_RDWR, 0)
	if err != nil {
		return nil, infer.Errorf(infer.Internal, "Unable to open shared memory region: '%s'", key)
	}
	defer file.Close() // the mapping lives on without it
	info, err := file.Stat()
	if err != nil {
		return nil, infer.Errorf(infer.Internal, "%v", err)
	}
	length := uint64(info.Size())
	if size == 0 || offset > length || size > length-offset {
		return nil, infer.Errorf(infer.Internal, "Invalid shared memory region: '%s'", key)
	}
	page := uint64(os.Getpagesize())
	start := offset / page * page
	whole, err := unix.Mmap(int(file.Fd()), int64(start), int(offset-start+size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, infer.Errorf(infer.Internal, "unable to map shared memory region '%s': %v", name, err)
	}
	return &mapped{name: name, whole: whole, data: whole[offset-start:]}, nil
}

func unmap(b []byte) { _ = unix.Munmap(b) }
