package cli

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

// The windows of a calibration: three, each this long, or as long as so many requests of a low rate take.
const (
	floorWindow    = 300 * time.Millisecond
	floorRequests  = 30
	floorLongest   = 3 * time.Second
	floorMaxLevels = 64
)

// runCalibrateProfile is `redline calibrate profile`.
func runCalibrateProfile(p *IO, args []string) int {
	const name = "redline calibrate profile"
	pl, notes, err := flags.Parse(plan.Redline, name, args, p.Secrets)
	if errors.Is(err, flags.ErrHelp) {
		fmt.Fprint(p.Stdout, calibrateHelp)
		return exitOK
	}
	if err != nil {
		return usageFailed(p, plan.Redline, err)
	}
	if why := needsNative(pl); why != "" && !native && pl.Target.Kind != plan.TritonCAPI {
		return handOver(p, why)
	}
	return keepFloors(p, name, func(p *IO, sigs *signals) ([]calibrate.Floor, error) {
		floors, err := calibratePlan(p, sigs, pl, notes)
		if err == nil {
			floorHead(p.Stdout)
			floorLines(p.Stdout, floors)
		}
		return floors, err
	})
}

// calibratePlan sends the traffic of a plan to a server that does nothing.
func calibratePlan(p *IO, sigs *signals, pl *plan.Plan, notes flags.Notes) ([]calibrate.Floor, error) {
	extra, kind := []string{"--null"}, ""
	switch k := pl.Target.Kind; {
	case k == plan.TritonCAPI:
		return nil, errors.New("a Triton in the process has no server that does nothing: its calls cannot be calibrated")
	case k == plan.DynamicGRPC:
		return nil, errors.New("the methods of dynamic_grpc are the server's own: a server that does nothing cannot answer them")
	case k != plan.Triton:
		kind = "reference server" // it has no null form of these
	case pl.Target.Compression != "" && pl.Target.Compression != "none":
		extra, kind = nil, "reference server" // the null server does not unpack
	}
	m, err := lookAt(p, sigs, pl, notes)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(p.Stdout, "model: "+m.how)
	if kind != "" {
		fmt.Fprintf(p.Stdout, "server: the %s answers; its own time is in these figures\n", kind)
	}
	ca, done, err := floorCertificate(&pl.Target)
	if err != nil {
		return nil, err
	}
	defer done()
	if ca != "" {
		extra = append(extra, "--tls-cert", ca, "--tls-key", ca)
	}
	dir, err := m.repository()
	if err != nil {
		return nil, err
	}
	defer m.remove()
	if dir != "" {
		extra = append(extra, "--model-repository", dir)
	}
	server, err := startEmbedded(sigs.soft, p, extra)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	c := *pl
	floorTarget(&c, server, ca)
	return measureFloors(&session{IO: p.silenced(), plan: &c, sigs: sigs}, kind, func(s *session) {
		if m.model != nil { // the server that does nothing knows no sequences, but the requests carry their parameters
			s.model.Scheduler = m.model.Scheduler
		}
	})
}

// floorTarget turns a plan to a server that does nothing, over TLS where there is a certificate.
func floorTarget(p *plan.Plan, server *embedded, ca string) {
	t := &p.Target
	t.URL, t.Embedded = server.address(floorPort(t)), false
	if t.TLS = (plan.TLS{}); ca != "" {
		t.TLS = plan.TLS{CAFile: ca, CertType: "PEM", KeyType: "PEM", VerifyHostLevel: 2}
		if t.TLS.GRPC = overGRPC(t); !t.TLS.GRPC {
			t.URL = "https://" + t.URL
		}
	}
	t.Trace, t.Metrics, t.ComposingModels, t.Version, t.Sources = plan.Trace{}, plan.Metrics{}, nil, "", nil
	p.Output, p.Outcome, p.Verbose, p.Load.MPI = plan.Output{}, plan.Outcome{}, 0, false
}

// floorPort names the port of the server for a kind of service.
func floorPort(t *plan.Target) plan.Protocol {
	switch t.Kind {
	case plan.OpenAI:
		return "openai"
	case plan.TorchServe:
		return "torchserve"
	case plan.TFServing:
		return "tfserving"
	case plan.Triton, plan.TritonCAPI, plan.DynamicGRPC:
	}
	return t.Protocol
}

// shorten leaves of a plan's measurement what a floor needs: three short windows at each level.
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
	if c.End == 0 {
		c.End = max(c.Start, floorMaxLevels)
	}
	c.Step = max(c.Step, int(math.Ceil(float64(c.End-c.Start)/floorMaxLevels)))
}

// measureFloors runs a session against a server that does nothing. changed is called when it knows the model.
func measureFloors(s *session, server string, changed func(*session)) ([]calibrate.Floor, error) {
	shorten(s.plan)
	defer s.close()
	steps := []func() error{s.checkLimits, s.describe, func() error { changed(s); return nil }, s.check, s.loadUnchecked, s.stage}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.New(s.advise(err))
		}
	}
	res, err := s.runFloor()
	for range 2 {
		if !errors.Is(err, profile.ErrNoRequests) {
			break
		}
		s.plan.Measure.Interval *= 4 // large tensors on a slow machine
		res, err = s.runFloor()
	}
	if err != nil && !errors.Is(err, profile.ErrUnstable) {
		return nil, err
	}
	floors := floorsOf(s.plan, res, server)
	if len(floors) == 0 {
		return nil, errors.New("no request was answered")
	}
	return floors, nil
}

func (s *session) runFloor() (*result.Result, error) {
	runner := &profile.Runner{
		Plan: s.plan, Service: s.svc, Model: s.model, Async: s.async, Observer: silent{}, Feed: s.feed(),
		Times: s.data.Times(), Streams: streams(s.plan.Target.Kind),
	}
	return runner.Run(s.sigs.soft, s.sigs.hard)
}

// loadUnchecked is load for answers that nobody expects to be right.
func (s *session) loadUnchecked() error {
	data, err := workload.LoadFor(s.plan.Input, s.model, s.plan.Load.Mode, s.plan.Measure.WarmupCount)
	if err != nil {
		return err
	}
	s.data = data
	if s.plan.Load.Mode == plan.SessionConcurrency {
		return s.loadSessions()
	}
	s.requests, err = workload.Prepare(s.sigs.soft, unchecked{s.svc}, data, s.plan.Face)
	return err
}

// unchecked is a service whose answers are compared with nothing.
type unchecked struct{ service.Service }

func (u unchecked) Prepare(in service.Inputs) (service.Request, error) {
	in.Expect = nil
	return u.Service.Prepare(in)
}
