package calibration

import (
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Stated adds the error that an earlier calibration found to the health of a level, or why none can be known. With --calibrate
// the error is measured after the run instead. A bare report states nothing.
func Stated(s *traffic.Traffic) func(*result.Level) {
	if s.Plan.Policies.BareReport {
		return nil
	}
	if err := Possible(s.Plan); err != nil {
		return func(lv *result.Level) { lv.Health.ErrorUnknown = err.Error() }
	}
	if s.Plan.Measure.Calibrate {
		return nil
	}
	table := s.Calibration(s.Warn)
	return func(lv *result.Level) {
		if f, ok := table().Find(trafficOf(s.Plan, lv)); ok {
			lv.Health.Error = measure.StatedError(f, lv)
		}
	}
}

// trafficOf is what the calibration knows a measured level by.
func trafficOf(p *plan.Plan, lv *result.Level) calibrate.Traffic {
	t := calibrate.Traffic{
		Protocol: string(p.Target.Protocol), Mode: "unary", Concurrency: lv.Concurrency, Rate: lv.Rate, InFlight: lv.Health.AchievedInFlight,
		RequestBytes: lv.Client.RequestBytes, ResponseBytes: lv.Client.ResponseBytes, PerSecond: pacePerSecond(lv),
	}
	if lv.Concurrency > 0 {
		t.InFlight = float64(lv.Concurrency)
	}
	if p.Target.Kind != kind.Default {
		t.Service = string(p.Target.Kind)
	}
	if p.Target.Streaming {
		t.Mode = "stream"
	}
	if p.Target.Secure() {
		t.Mode += " TLS"
	}
	if c := p.Target.Compression; c != "" && c != "none" {
		t.Mode += " " + c
	}
	if m := p.Input.SharedMemory; m != "" && m != plan.NoSharedMemory {
		t.Mode += " " + string(m) + " shared memory"
	}
	switch p.Load.Mode {
	case plan.RequestRate:
		if p.Load.Distribution == plan.Poisson {
			t.Mode += " poisson"
		}
	case plan.CustomIntervals:
		t.Mode += " intervals"
	case plan.FixedSchedule:
		t.Mode += " schedule"
	case plan.SessionConcurrency:
		t.Mode += " sessions"
	case plan.PeriodicConcurrency:
		t.Mode += " periodic"
	case plan.Concurrency:
	}
	return t
}

// pacePerSecond is how many requests of a level ended a second.
func pacePerSecond(lv *result.Level) float64 {
	if lv.Client.DurationNs == 0 {
		return 0
	}
	return float64(lv.Client.Requests) / time.Duration(lv.Client.DurationNs).Seconds()
}
