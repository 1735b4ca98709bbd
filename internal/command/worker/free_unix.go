//go:build unix

package worker

import "golang.org/x/sys/unix"

// free is the room in a folder in bytes.
func free(folder string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
