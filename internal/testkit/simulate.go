package testkit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// Simulate runs a test in simulated time: see testing/synctest. The time moves on when every goroutine of the test
// waits, so outcomes depend neither on the speed of the machine nor on its load.
//
// The simulation starts in the year 2000, before the epoch of package clock. Simulate moves on to that epoch first, so
// that readings of clock.Now are positive, as in a run.
func Simulate(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second - time.Duration(clock.Now()))
		test(t)
	})
}
