package clock

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is the part of a wait that the Go timer may serve. The runtime rounds waits under a millisecond up to
// a whole one when it idles in epoll, which is far too late for a schedule of tens of thousands of sends a second.
const coarse = 2 * time.Millisecond

// SleepUntil waits until Now reaches t and returns true, or returns false as soon as ctx ends. The last
// stretch is a nanosleep in the kernel: it wakes within some tens of microseconds and burns no CPU.
// It must be called from a goroutine that may block its thread.
func SleepUntil(ctx context.Context, t int64) bool {
	inKernel := coarse
	if !monotonic() {
		inKernel = 0 // a test simulates time (testing/synctest), and only timers advance it
	}
	for {
		wait := time.Duration(t - Now())
		if wait <= 0 {
			return ctx.Err() == nil
		}
		if wait > inKernel {
			timer := time.NewTimer(wait - inKernel)
			select {
			case <-ctx.Done():
				timer.Stop()
				return false
			case <-timer.C:
			}
			continue
		}
		ts := unix.NsecToTimespec(int64(wait))
		_ = unix.Nanosleep(&ts, nil) // an early return by a signal is caught by the loop
		if ctx.Err() != nil {
			return false
		}
	}
}

// monotonic reports whether times have a monotonic reading. Simulated times have none.
func monotonic() bool {
	now := time.Now()
	return now != now.Round(0) // Round removes the monotonic reading
}
