// Package clock is the one time base of a run: monotonic nanoseconds since the process began to measure.
//
// Every record, schedule and window has its times in these numbers, so that they compare and subtract without
// conversions, and a step of the system's wall clock changes no latency. Wall turns such a number into
// Unix time, for exports only.
package clock

import (
	"context"
	"time"
)

// epoch is fixed when the program starts and never changes; it anchors both scales.
var epoch = time.Now()

// Now is the monotonic time in nanoseconds since the epoch of this process.
func Now() int64 { return int64(time.Since(epoch)) }

// Wall turns a reading of Now into nanoseconds since the Unix epoch.
func Wall(t int64) int64 { return epoch.UnixNano() + t }

// Both is Now and, read together with it, the wall clock in nanoseconds since the Unix epoch. Unlike Wall it follows
// the wall clock when that is set.
func Both() (now, wall int64) {
	t := time.Now()
	return int64(t.Sub(epoch)), t.UnixNano()
}

// Sleep waits for d; it returns false when ctx has ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Every calls do at each interval until ctx ends.
func Every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
