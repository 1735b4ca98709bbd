package profile

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// periodic runs the mode that has no levels and no windows: all of its requests go to the export, and that is its
// whole report. Each step waits for responses to the requests of all steps before, so the load cannot be divided: the first segment
// sends all of it.
func (r *Runner) periodic(ctx context.Context) error {
	if r.Plan.Segment.Index > 0 {
		return nil
	}
	var exported error
	if r.Exporter != nil {
		exported = r.Exporter.Begin(plan.PeriodicConcurrency, 1, 0)
		r.eng.Sync(run.Glance, func(*run.State) {
			r.collect = func(rec *record.Record, events []record.Event, data []byte) {
				if rec.Class == record.OK && exported == nil {
					exported = r.Exporter.Request(rec, events, data)
				}
			}
		})
	}
	first := run.Read(r.eng, run.Glance)
	err := r.eng.Begin(ctx, run.Order{Level: &result.Level{Mode: plan.PeriodicConcurrency}})
	if err == nil {
		err = r.eng.Wait(ctx)
	}
	r.ignore()
	last := run.Read(r.eng, run.Glance)
	if err == nil && last.Stall() == nil {
		err = last.Err
	}
	r.unleveled = measure.Stalled(last.Stalled-first.Stalled, time.Duration(last.At-first.At), recordsOption)
	if errors.Is(err, context.Canceled) {
		err = run.ErrInterrupted
	}
	select {
	case <-r.eng.Failed():
		err = r.loadError()
	default:
	}
	if r.Exporter != nil {
		exported = errors.Join(exported, r.Exporter.End([]int64{0, math.MaxInt64}))
	}
	return errors.Join(err, exported)
}
