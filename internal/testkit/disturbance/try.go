package disturbance

import (
	"fmt"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// tries is how often a disturbed measurement is taken before it is inconclusive. `make test` takes inconclusive tests
// once more at its end.
const tries = 3

// calmWait is how long Try waits for other work to end before it measures again.
const calmWait = 10 * time.Second

// Try takes a measurement. measure returns an error when a figure misses its tolerance; it calls t.Fatal itself for
// faults that no other work on the machine can cause, such as a wrong count.
//
// An undisturbed measurement that misses fails the test. A disturbed one is taken again, and after three of them the
// test is inconclusive.
func Try(t *testing.T, measure func() error) {
	t.Helper()
	var last string
	for i := range tries {
		watch := Start()
		err := measure()
		report := watch.Stop()
		if err == nil {
			return
		}
		if !report.Disturbed() {
			t.Fatalf("%v (undisturbed: %v)", err, report)
		}
		last = fmt.Sprintf("%v (%v)", err, report)
		t.Logf("try %d, disturbed: %s", i+1, last)
		if i+1 < tries {
			waitForCalm()
		}
	}
	outcome.Inconclusive(t, last)
}

// waitForCalm returns when nothing else has used the machine for a moment, at the latest after calmWait.
func waitForCalm() {
	for end := time.Now().Add(calmWait); time.Now().Before(end); {
		w := Start()
		time.Sleep(300 * time.Millisecond)
		if !w.Stop().Disturbed() {
			return
		}
	}
}
