package profile

import (
	"context"
	"errors"
	"math"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
)

// periodic runs the mode that has no levels and no windows: all of its requests go to the export, and that is its
// whole report.
func (r *Runner) periodic(ctx context.Context) error {
	load := &r.Plan.Load
	err := r.eng.Periodic(ctx, engine.PeriodicLoad{
		Start: load.Periodic.Start, End: load.Periodic.End, Step: load.Periodic.Step, Period: load.Period,
	})
	if errors.Is(err, context.Canceled) {
		err = ErrInterrupted
	}
	select {
	case <-r.eng.Failed():
		err = &LoadError{Slots: r.eng.SlotErrors(), Async: r.Async}
	default:
	}
	return errors.Join(err, r.exportAll(plan.PeriodicConcurrency))
}

// exportAll writes every request that ended well, without windows.
func (r *Runner) exportAll(mode plan.Mode) error {
	if r.Exporter == nil {
		return nil
	}
	err := r.Exporter.Begin(mode, 1, 0)
	r.eng.Drain(func(rec *record.Record, events []record.Event, data []byte) {
		if rec.Class == record.OK {
			err = errors.Join(err, r.Exporter.Request(rec, events, data))
		}
	})
	return errors.Join(err, r.Exporter.End([]int64{0, math.MaxInt64}))
}
