package vitals_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/vitals"
)

// Work on one goroutine must show as CPU time, and idling must not.
func TestUsageShowsWork(t *testing.T) {
	before := vitals.Read()
	start := time.Now()
	sum := 0
	for time.Since(start) < 50*time.Millisecond {
		sum++
	}
	runtime.KeepAlive(sum)
	after := vitals.Read()
	u := after.Since(before)
	if runtime.GOOS == "linux" && u.CPU < time.Millisecond {
		t.Errorf("50 ms of work cost %s of CPU", u.CPU)
	}
	if u.Busy < 0 || u.Busy > 1 {
		t.Errorf("the machine was %g busy", u.Busy)
	}
	if again := after.Since(after); again.CPU != 0 || again.GCPause != 0 || again.SchedDelay != 0 {
		t.Errorf("nothing happened, yet %+v", again)
	}
}

func TestCollectionsShowAsPauses(t *testing.T) {
	before := vitals.Read()
	runtime.GC()
	if u := vitals.Read().Since(before); u.GCPause <= 0 {
		t.Errorf("a collection left no pause: %+v", u)
	}
}
