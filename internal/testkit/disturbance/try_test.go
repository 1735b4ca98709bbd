package disturbance

import (
	"testing"
	"time"
)

func TestMissesAreJudged(t *testing.T) {
	quiet := Report{ForeignCores: 0.02, Runnable: 40, PressureShare: 0.9} // the test's own load
	other := Report{ForeignCores: 0.5}
	unknown := Report{Unknown: true}
	f := func(name string, want decision, reports ...Report) {
		t.Helper()
		for i, r := range reports {
			got := judge(r, i+1)
			if i < len(reports)-1 && got != again {
				t.Fatalf("%s: miss %d is decided (%d), want the measurement to be taken again", name, i+1, got)
			}
			if i == len(reports)-1 && got != want {
				t.Errorf("%s: decision %d, want %d", name, got, want)
			}
		}
	}
	f("an undisturbed miss", failed, quiet)
	f("an undisturbed miss after disturbed ones", failed, other, other, quiet)
	f("a disturbed miss", again, other)
	f("three disturbed ones", inconclusive, other, Report{StealShare: 0.02}, Report{Standstill: 5 * time.Millisecond})
	f("a starved machine", inconclusive, Report{StealShare: 0.9})
	f("a system that does not tell", failed, unknown, unknown, unknown)
}

// A measurement within its tolerance is taken once, whatever else ran.
func TestAHitPasses(t *testing.T) {
	taken := 0
	Try(t, func() error { taken++; return nil })
	if taken != 1 {
		t.Errorf("%d measurements, want 1", taken)
	}
}
