package vitals_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/vitals"
)

// Work on one goroutine shows as CPU time, sooner or later: another program may have the processor first.
func TestUsageShowsWork(t *testing.T) {
	before := vitals.Read()
	after := vitals.Read()
	if runtime.GOOS == "linux" {
		for end := time.Now().Add(time.Minute); after.Since(before).CPU < 10*time.Millisecond; after = vitals.Read() {
			if time.Now().After(end) {
				t.Fatalf("a minute of work cost %s of CPU", after.Since(before).CPU)
			}
		}
	}
	u := after.Since(before)
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
