package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

func TestAStatedErrorSaysWhyItMayDiffer(t *testing.T) {
	lv := &result.Level{}
	lv.Health.MachineShare = 0.9
	f := func(floor calibrate.Floor, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, measure.StatedError(calibrate.Found{Floor: floor}, lv).Notes); d != "" {
			t.Error(d)
		}
	}
	f(calibrate.Floor{Busy: 0.7, Foreign: 0.1})
	f(calibrate.Floor{Busy: 0.9, Foreign: 1.24}, "other programs used 1.2 cores during the calibration: on a quiet machine the error is smaller")
	f(calibrate.Floor{Busy: 0.2}, "the machine was 90 % busy during the run and 20 % during the calibration: the error may be larger")
}
