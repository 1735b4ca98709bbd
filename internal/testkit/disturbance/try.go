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
// test is inconclusive; after the first one if a hypervisor gives this machine too little to measure at all.
func Try(t testing.TB, measure func() error) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		watch := Start()
		err := measure()
		report := watch.Stop()
		switch judge(err, report, attempt) {
		case passed:
			return
		case failed:
			t.Fatalf("%v (undisturbed: %v)", err, report)
		case inconclusive:
			outcome.Inconclusive(t, fmt.Sprintf("%v (%v)", err, report))
		case again:
			t.Logf("try %d was disturbed: %v (%v)", attempt, err, report)
			waitForCalm()
		}
	}
}

// hopelessSteal is the share of steal from which a measurement is not taken again: its end would be the same, and the tests of a
// machine that is so slow take long enough.
const hopelessSteal = 0.25

// decision is what follows from one measurement.
type decision int

const (
	passed decision = iota
	failed
	again
	inconclusive
)

// judge decides about a measurement that returned err; attempt counts from 1.
func judge(err error, r Report, attempt int) decision {
	switch {
	case err == nil:
		return passed
	case !r.Disturbed():
		return failed
	case attempt < tries && r.StealShare < hopelessSteal:
		return again
	default:
		return inconclusive
	}
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
