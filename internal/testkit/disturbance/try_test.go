package disturbance

import (
	"errors"
	"testing"
	"time"
)

func TestMissesAreTakenAgain(t *testing.T) {
	quiet := Report{ForeignCores: 0.02, Runnable: 40, PressureShare: 0.9} // the test's own load
	other := Report{ForeignCores: 0.5}
	f := func(name string, want decision, reports ...Report) {
		t.Helper()
		var m misses
		for i, r := range reports {
			got := m.judge(errors.New("p50 25ms, the server took 20ms"), r)
			if i < len(reports)-1 && got != again {
				t.Fatalf("%s: measurement %d is decided (%d), want it to be taken again", name, i+1, got)
			}
			if i == len(reports)-1 && got != want {
				t.Errorf("%s: decision %d, want %d", name, got, want)
			}
		}
	}
	f("one miss", again, quiet)
	f("two misses", failed, quiet, quiet)
	f("a system that does not tell", failed, Report{Unknown: true}, Report{Unknown: true})
	f("three disturbed ones", inconclusive, other, Report{StealShare: 0.02}, Report{Standstill: 5 * time.Millisecond})
	f("a disturbed one between", failed, quiet, other, quiet)
	f("undisturbed at last", again, other, other, quiet)
	f("a starved machine", inconclusive, Report{StealShare: 0.9})
}

func TestAHitPasses(t *testing.T) {
	for _, r := range []Report{{}, {ForeignCores: 0.5}, {StealShare: 0.9}} {
		var m misses
		if got := m.judge(nil, r); got != passed {
			t.Errorf("%v: decision %d, want it passed", r, got)
		}
	}
}
