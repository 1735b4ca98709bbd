package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// UnixMinusMonotonic is what must be added to the kernel's monotonic clock, which other programs of this machine read too, to get Unix
// time; 0 if it is not known.
func UnixMinusMonotonic() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Now().UnixNano() - now.Nano()
}
