package disturbance

import (
	"errors"
	"testing"
	"time"
)

func TestOnlyADisturbedMissIsTakenAgain(t *testing.T) {
	missed := errors.New("p50 25ms, the server took 20ms")
	quiet := Report{ForeignCores: 0.02, Runnable: 40, PressureShare: 0.9} // the test's own load
	f := func(err error, r Report, attempt int, want decision) {
		t.Helper()
		if got := judge(err, r, attempt); got != want {
			t.Errorf("error %v, %v, attempt %d: decision %d, want %d", err, r, attempt, got, want)
		}
	}
	f(nil, quiet, 1, passed)
	f(missed, quiet, 1, failed)
	f(missed, Report{Unknown: true}, 1, failed)
	for _, disturbed := range []Report{{ForeignCores: 0.5}, {StealShare: 0.02}, {Standstill: 5 * time.Millisecond}} {
		f(nil, disturbed, 1, passed)
		f(missed, disturbed, 1, again)
		f(missed, disturbed, tries, inconclusive)
	}
	f(nil, Report{StealShare: 0.9}, 1, passed)
	f(missed, Report{StealShare: 0.9}, 1, inconclusive)
}
