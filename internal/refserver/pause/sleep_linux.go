package pause

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// eventSleeper sleeps in ppoll, whose timeout has the kernel's full resolution; a write to the event ends it early.
type eventSleeper struct{ fd int }

func newSleeper() sleeper {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return newTimerSleeper()
	}
	return &eventSleeper{fd: fd}
}

func (s *eventSleeper) wait(d time.Duration) {
	var timeout *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		timeout = &ts
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
	n, err := unix.Ppoll(fds, timeout, nil)
	if err == nil && n > 0 {
		var drop [8]byte
		_, _ = unix.Read(s.fd, drop[:]) // only to clear the event
	}
}

func (s *eventSleeper) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(s.fd, one[:]) // fails only when the event is already set
}

func (s *eventSleeper) close() { _ = unix.Close(s.fd) }

// pin keeps the caller on one thread and asks the kernel not to round that thread's wake-ups.
func pin() (unpin func()) {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it wake-ups are 50 us later
	return runtime.UnlockOSThread
}
