package disturbance

import (
	"fmt"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// How many measurements decide. `make test` takes inconclusive tests once more at its end.
const (
	disturbedTries = 3 // so many disturbed misses are inconclusive
	failingMisses  = 2 // so many undisturbed misses fail the test
)

// calmWait is how long Try waits for other work to end before it measures again.
const calmWait = 10 * time.Second

// Try takes a measurement. measure returns an error when a figure misses its tolerance; it calls t.Fatal itself for
// faults that no other work on the machine can cause, such as a wrong count.
//
// An undisturbed miss is taken again, because a percentile of some hundred requests misses by chance now and then: the second
// one fails the test, and a test that passes after the first one is listed in the summary. A disturbed miss is taken again too; after
// three of them the test is inconclusive, or after the first one if a hypervisor gives this machine too little to measure at all.
func Try(t testing.TB, measure func() error) {
	t.Helper()
	var seen misses
	for {
		watch := Start()
		err := measure()
		report := watch.Stop()
		switch seen.judge(err, report) {
		case passed:
			if seen.undisturbed > 0 {
				outcome.MissedOnce(t, seen.first)
			}
			return
		case failed:
			t.Fatalf("%v; before: %s (undisturbed: %v)", err, seen.first, report)
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

// decision is what follows from one measurement.
type decision int

const (
	passed decision = iota
	failed
	again
	inconclusive
)

// misses are the measurements of a test that missed its tolerance so far.
type misses struct {
	undisturbed, disturbed int
	first                  string // of the undisturbed ones
}

// judge decides about a measurement that returned err.
func (m *misses) judge(err error, r Report) decision {
	switch {
	case err == nil:
		return passed
	case r.Disturbed():
		m.disturbed++
		if m.disturbed == disturbedTries || r.StealShare >= hopelessSteal {
			return inconclusive
		}
		return again
	}
	m.undisturbed++
	if m.undisturbed == failingMisses {
		return failed
	}
	m.first = err.Error()
	return again
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
