package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// checkFleet names the first option that has no meaning with --workers, or without it. A run without workers has no fleet.
func (o *options) checkFleet(table *option.Table) error {
	if err := o.fleet.Check(table.Given); err != nil {
		return err
	}
	if o.fleet.Workers == "" {
		o.fleet = plan.Fleet{}
		return nil
	}
	switch {
	case !o.segment.Whole():
		return errors.New("--segment is one part of a load that you divide yourself; leave it out, --workers divides the load")
	case o.outcome.TraceRequests > 0:
		return errors.New("--trace-requests cannot be used with --workers")
	}
	return nil
}

// crew is the workers that make the load of all classes; the zero value is a run without workers.
type crew struct {
	bus  *coordinator.Bus
	runs []*fleet.Run // one for each class
}

// prepareTime is how long the workers have to make their connections before all classes begin together. A class that needs longer
// begins later.
const prepareTime = 300 * time.Millisecond

// connectFleet connects to NATS. It does nothing without --workers.
func (r *run) connectFleet() (err error) {
	if r.opts.fleet.Workers == "" {
		return nil
	}
	if r.opts.fleet, err = coordinator.Named(r.opts.fleet); err != nil {
		return err
	}
	r.crew.bus, err = coordinator.Open(r.sigs.Soft, r.IO, r.opts.fleet.NATS)
	return err
}

// gather has the workers prepare their shares of all classes. It does nothing without --workers.
func (r *run) gather() error {
	c := &r.crew
	if c.bus == nil {
		return nil
	}
	var loads []fleet.Work
	for _, m := range r.classes {
		work, err := m.load.Work()
		if err != nil {
			return fmt.Errorf("class %s: %w", m.Name, err)
		}
		work.Class = m.Name
		loads = append(loads, work)
	}
	var err error
	c.runs, err = fleet.GatherAll(r.sigs.Soft, c.bus.Bus, coordinator.Config(r.IO, fleet.Config{Fleet: r.opts.fleet, Command: "run", Line: r.line}), loads)
	if err != nil {
		return err
	}
	for i, m := range r.classes {
		m.fleet = c.runs[i]
		m.load.UseWorkers(m.fleet)
	}
	return nil
}

// workers are what the workers have counted until now; nil without workers.
func (c *crew) workers() []measure.Reading {
	if c.runs == nil {
		return nil
	}
	return c.runs[0].Readings()
}

// startTime is when all classes begin that are ready now.
func (c *crew) startTime() int64 {
	if c.runs == nil {
		return clock.Now()
	}
	return clock.Now() + int64(prepareTime)
}

// result is what the result says of the workers; nil without workers.
func (c *crew) result() *result.Fleet {
	if c.runs == nil {
		return nil
	}
	return c.runs[0].Result()
}

// close lets the workers go, and removes what NATS has of the run.
func (c *crew) close() {
	if c.runs != nil {
		c.runs[0].End(context.Background()) // also after an interrupt
	}
	c.bus.Close()
}
