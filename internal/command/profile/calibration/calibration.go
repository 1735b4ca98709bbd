// Package calibration measures the error of a client's times: it sends the traffic of a plan to a reference server that logs
// when it received and answered each request. Reports state the error of the traffic that is like theirs.
package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
)

// Possible says why the traffic of a plan cannot be calibrated.
func Possible(pl *plan.Plan) error {
	switch r := &kind.Of(pl.Target.Kind).Reference; {
	case r.Missing != "":
		return errors.New(r.Missing)
	case r.Hold == nil:
		return fmt.Errorf("the reference server has no service kind %s", pl.Target.Kind)
	}
	return nil
}

// Ladder sends the traffic of a plan to a reference server of our own, at each of several paces, and calls show for the
// floors of each pace.
func Ladder(p *command.IO, sigs *command.Signals, pl *plan.Plan, m *standin.Model, show func([]calibrate.Floor)) ([]calibrate.Floor, error) {
	run, done, err := newPaceRun(p, sigs, pl, m)
	if err != nil {
		return nil, err
	}
	defer done()
	var all []calibrate.Floor
	for _, run.hold = range holds(&pl.Load) {
		floors, err := run.floors()
		if err != nil {
			return nil, err
		}
		show(floors)
		all = append(all, floors...)
	}
	return all, nil
}

// The times for which the server holds its answers in a calibration that does not know the run's pace: reports take the
// larger error of the two paces around theirs. slowHold is for levels that have calibrate.SlowPace requests a second or more then.
var ladderHolds = []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond}

const slowHold = 200 * time.Millisecond

// holds are the holds for each level of a load. A level of an open loop has one pace, its rate.
func holds(load *plan.Load) []time.Duration {
	switch {
	case load.Mode != plan.Concurrency:
		return ladderHolds[len(ladderHolds)-1:]
	case float64(load.Concurrency.Start)/slowHold.Seconds() >= calibrate.SlowPace:
		return append(slices.Clone(ladderHolds), slowHold)
	}
	return ladderHolds
}

// newPaceRun writes the files that the server needs. done removes them.
func newPaceRun(p *command.IO, sigs *command.Signals, pl *plan.Plan, m *standin.Model) (run *paceRun, done func(), err error) {
	ca, noCertificate, err := standin.Certificate(&pl.Target)
	if err != nil {
		return nil, nil, err
	}
	done = func() { noCertificate(); m.Remove() }
	if err = m.Write(); err != nil {
		done()
		return nil, nil, err
	}
	return &paceRun{IO: p, sigs: sigs, plan: pl, model: m, ca: ca}, done, nil
}

// floorTarget turns a plan to the reference server, over TLS where there is a certificate.
func floorTarget(p *plan.Plan, server *command.Embedded, ca string) {
	t := &p.Target
	t.URL, t.Embedded = server.Address(cmp.Or(kind.Of(t.Kind).Reference.Port, t.Protocol)), false
	if t.TLS = (plan.TLS{}); ca != "" {
		t.TLS = plan.TLS{CAFile: ca, CertType: "PEM", KeyType: "PEM", VerifyHostLevel: 2}
		if t.TLS.GRPC = t.Protocol == plan.GRPC; !t.TLS.GRPC {
			t.URL = "https://" + t.URL
		}
	}
	t.Trace, t.Metrics, t.ComposingModels, t.Version, t.Sources = plan.Trace{}, plan.Metrics{}, nil, "", nil
	p.Output, p.Outcome, p.Verbose, p.Load.MPI = plan.Output{}, plan.Outcome{}, 0, false
}

// The windows of a calibration: three, of which the first is the warm-up. Each is this long, or as long as so many requests
// of a low rate take.
const (
	floorWindow    = 400 * time.Millisecond
	floorRequests  = 30
	floorLongest   = 3 * time.Second
	floorMaxLevels = 64
	floorThink     = 100 * time.Millisecond // the longest mean think time: longer ones are calibrated at a faster pace
)

// shorten leaves of a plan's measurement what a calibration needs: three short windows at each level.
func shorten(p *plan.Plan) {
	load, m := &p.Load, &p.Measure
	m.LatencyLimit, m.Percentile, m.StopOnFailure = 0, 0, true
	switch load.Mode {
	case plan.FixedSchedule, plan.SessionConcurrency, plan.PeriodicConcurrency: // these have an end of their own
		return
	case plan.Concurrency, plan.RequestRate, plan.CustomIntervals:
	}
	m.Window, m.Interval, m.MaxTrials, m.Stability = plan.TimeWindows, floorWindow, 3, 100
	m.RequestCount, m.WarmupCount = 0, 0
	load.Search = plan.Linear
	c, r := &load.Concurrency, &load.Rate
	if load.Mode == plan.RequestRate {
		slowest := time.Duration(floorRequests / r.Start * float64(time.Second))
		m.Interval = min(max(floorWindow, slowest), floorLongest)
		if r.End == 0 {
			r.End = r.Start * 16
		}
		r.Step = max(r.Step, (r.End-r.Start)/floorMaxLevels)
		return
	}
	load.ThinkTime.Mean = min(load.ThinkTime.Mean, floorThink)
	load.ThinkTime.Spread = min(load.ThinkTime.Spread, load.ThinkTime.Mean)
	if c.End == 0 {
		c.End = max(c.Start, floorMaxLevels)
	}
	c.Step = max(c.Step, int(math.Ceil(float64(c.End-c.Start)/floorMaxLevels)))
}
