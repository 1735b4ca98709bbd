//go:build unix

package target

import "golang.org/x/sys/unix"

// raiseFileLimit asks for at least n open files and returns how many there may be.
func raiseFileLimit(n uint64) uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return n
	}
	if r.Cur >= n {
		return r.Cur
	}
	want := r
	want.Cur = min(r.Max, max(r.Cur, n))
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &want) != nil {
		return r.Cur
	}
	return want.Cur
}
