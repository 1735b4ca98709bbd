package disturbance

import (
	"fmt"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// tries is after how many disturbed misses a test is inconclusive. `make test` takes inconclusive tests once more at its end.
const tries = 3

// calmWait is how long Try waits for other work to end before it measures again.
const calmWait = 10 * time.Second

// Try takes a measurement. measure returns an error when a figure misses its tolerance; it calls t.Fatal itself for
// faults that no other work on the machine can cause, such as a wrong count.
//
// An undisturbed miss fails the test. A disturbed one is taken again; after three of them the test is inconclusive, or after the
// first one if a hypervisor gives this machine too little to measure at all. Where the system does not tell what disturbed the
// measurements, three misses fail the test.
func Try(t testing.TB, measure func() error) {
	t.Helper()
	for missed := 1; ; missed++ {
		watch := Start()
		err := measure()
		report := watch.Stop()
		if err == nil {
			return
		}
		switch judge(report, missed) {
		case failed:
			t.Fatalf("%v (undisturbed: %v)", err, report)
		case inconclusive:
			outcome.Inconclusive(t, fmt.Sprintf("%v (%v)", err, report))
		case again:
			t.Logf("measured again: %v (%v)", err, report)
			waitForCalm()
		}
	}
}

// hopelessSteal is the share of steal from which a measurement is not taken again: its end would be the same, and the tests of a
// machine that is so slow take long enough.
const hopelessSteal = 0.25

// decision is what follows from a miss.
type decision int

const (
	failed decision = iota
	again
	inconclusive
)

// judge decides about a measurement that missed its tolerance. missed is how many measurements of the test have missed so far.
func judge(r Report, missed int) decision {
	switch {
	case r.Unknown && missed < tries:
		return again
	case !r.Disturbed():
		return failed
	case missed < tries && r.StealShare < hopelessSteal:
		return again
	}
	return inconclusive
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
