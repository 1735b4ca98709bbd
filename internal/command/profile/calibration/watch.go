package calibration

import (
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
)

// Watch measures a periodic load, which has no level of its own: every request goes through its exporter.
type Watch struct {
	profile.Exporter
	rec   *measure.Recorder
	level result.Level
}

// Watched puts a Watch before the exporter of a periodic load. Any other load keeps its exporter, and the Watch is nil.
func Watched(p *plan.Plan, exporter profile.Exporter) (profile.Exporter, *Watch) {
	if p.Load.Mode != plan.PeriodicConcurrency {
		return exporter, nil
	}
	w := &Watch{
		Exporter: exporter, rec: measure.New(measure.Config{Setup: measure.Setup{Streaming: true}}),
		level: result.Level{Mode: plan.PeriodicConcurrency, Concurrency: p.Load.Periodic.End},
	}
	return w, w
}

// Begin implements profile.Exporter.
func (w *Watch) Begin(mode plan.Mode, concurrency int, rate float64) error {
	s := measure.State{At: clock.Now(), Vitals: vitals.Read()}
	w.rec.Begin(s.At, &s)
	return w.Exporter.Begin(mode, concurrency, rate)
}

// Request implements profile.Exporter.
func (w *Watch) Request(r *record.Record, events []record.Event, data []byte) error {
	w.rec.Add(r)
	return w.Exporter.Request(r, events, data)
}

// End implements profile.Exporter.
func (w *Watch) End(boundaries []int64) error {
	s := measure.State{At: clock.Now(), Vitals: vitals.Read()}
	w.rec.End(s.At, &s, nil)
	w.level, _ = w.rec.Level(w.level, &measure.Asked{})
	return w.Exporter.End(boundaries)
}

// Levels are the levels of a run: its own, or the one that was watched.
func (w *Watch) Levels(res *result.Result) []result.Level {
	if w == nil {
		return res.Levels
	}
	return []result.Level{w.level}
}

// keeper is the exporter of a calibration's periodic load: it keeps the requests.
type keeper struct{ *paceRun }

func (keeper) Begin(plan.Mode, int, float64) error { return nil }

func (k keeper) Request(r *record.Record, _ []record.Event, _ []byte) error {
	return k.keep(&result.Level{Concurrency: k.plan.Load.Periodic.End}, 0, r)
}

func (keeper) End([]int64) error { return nil }
