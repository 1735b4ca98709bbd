package profile

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
)

// periodic runs the mode that has no levels and no windows: all of its requests go to the export, and that is its
// whole report. Each step waits for responses to the requests of all steps before, so the load cannot be divided: the first segment
// sends all of it.
func (r *Runner) periodic(ctx context.Context) error {
	load := &r.Plan.Load
	if r.Plan.Segment.Index > 0 {
		return nil
	}
	var exported error
	if r.Exporter != nil {
		exported = r.Exporter.Begin(plan.PeriodicConcurrency, 1, 0)
		r.eng.Sync(func() {
			r.collect = func(rec *record.Record, events []record.Event, data []byte) {
				if rec.Class == record.OK && exported == nil {
					exported = r.Exporter.Request(rec, events, data)
				}
			}
		})
	}
	stalled, start := r.eng.Stalled(), clock.Now()
	loop := &engine.Periodic{Start: load.Periodic.Start, End: load.Periodic.End, Step: load.Periodic.Step, Period: load.Period}
	err := r.eng.Begin(ctx, Order{Loop: loop})
	if err == nil {
		err = r.eng.Finished(ctx)
	}
	if err == nil {
		err = loop.Err()
	}
	r.eng.Sync(func() { r.collect = nil })
	r.unleveled = measure.Stalled(r.eng.Stalled()-stalled, time.Duration(clock.Now()-start), recordsOption)
	if errors.Is(err, context.Canceled) {
		err = ErrInterrupted
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
