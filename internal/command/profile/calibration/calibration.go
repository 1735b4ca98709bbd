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
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// Possible returns why the measurement error of a plan cannot be measured: no reference server can take the place of its server.
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
// floors of each pace. m and own are what LookAt returned.
func Ladder(p *command.IO, sigs *command.Signals, pl *plan.Plan, m *standin.Model, own *traffic.Traffic, show func([]calibrate.Floor)) ([]calibrate.Floor, error) {
	run, done, err := newPaceRun(p, sigs, pl, m)
	if err != nil {
		return nil, err
	}
	defer done()
	run.own = own
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

// holds are the holds for each level of a load. A level of an open loop has one pace, its rate; no report looks up the
// error of a periodic load, which has no level.
func holds(load *plan.Load) []time.Duration {
	inFlight := load.Concurrency.Start
	switch load.Mode {
	case plan.SessionConcurrency:
		inFlight = load.Sessions
	case plan.RequestRate, plan.CustomIntervals, plan.FixedSchedule, plan.PeriodicConcurrency:
		return ladderHolds[len(ladderHolds)-1:]
	case plan.Concurrency:
	}
	if float64(inFlight)/slowHold.Seconds() >= calibrate.SlowPace {
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
	return &paceRun{IO: p, sigs: sigs, plan: pl, model: m, ca: ca, pauses: 1}, done, nil
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
// of a low rate take. A load with a schedule or an end of its own has one window, which ends after a time or so many requests.
const (
	floorEnd       = 10 * time.Second
	floorMost      = 5000
	floorWindow    = 400 * time.Millisecond
	floorRequests  = 30
	floorLongest   = 3 * time.Second
	floorMaxLevels = 64
	floorThink     = 100 * time.Millisecond // the longest mean think time: longer ones are calibrated at a faster pace
)

// whole tells whether a load is calibrated in one window, from its start: windows could fall between its requests.
func whole(load *plan.Load) bool {
	return load.Mode != plan.Concurrency && load.Mode != plan.RequestRate
}

// shorten changes a plan to the load and the windows that a calibration needs.
func shorten(p *plan.Plan) {
	load, m := &p.Load, &p.Measure
	m.LatencyLimit, m.Percentile, m.StopOnFailure = 0, 0, true
	if load.Mode == plan.CustomIntervals {
		m.RequestCount, m.WarmupCount = floorMost, 0
	}
	if whole(load) { // the warm-up of a schedule stays: its requests are the first in the input data
		m.RequestCount = min(m.RequestCount, floorMost)
		m.Window, m.MinRequests = plan.CountWindows, m.RequestCount
		return
	}
	m.Window, m.Interval, m.MaxTrials, m.Stability = plan.TimeWindows, floorWindow, 3, 100
	m.RequestCount, m.WarmupCount, m.OneWindow = 0, 0, false
	load.Search = plan.Linear
	if len(load.Stages) > 0 { // their mean rate stands for them
		rate := pace.StagesRate(load.Stages)
		load.Rate, load.Stages = plan.FloatRange{Start: rate, End: rate, Step: 1}, nil
	}
	load.Levels = load.Levels[:min(len(load.Levels), floorMaxLevels)]
	c, r := &load.Concurrency, &load.Rate
	if load.Mode == plan.RequestRate {
		slowest := time.Duration(floorRequests / r.Start * float64(time.Second))
		m.Interval = min(max(floorWindow, slowest), floorLongest)
		r.End = cmp.Or(r.End, r.Start*16)
		r.Step = max(r.Step, (r.End-r.Start)/floorMaxLevels)
		return
	}
	load.ThinkTime.Mean = min(load.ThinkTime.Mean, floorThink)
	load.ThinkTime.Spread = min(load.ThinkTime.Spread, load.ThinkTime.Mean)
	c.End = cmp.Or(c.End, max(c.Start, floorMaxLevels))
	c.Step = max(c.Step, int(math.Ceil(float64(c.End-c.Start)/floorMaxLevels)))
}
