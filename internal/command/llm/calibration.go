package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/llm"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// Calibration is a calibration of the token times of a run.
type Calibration struct{ traffic }

// ReadCalibration reads the options of the run, over the plan of a result if there is one.
func ReadCalibration(own json.RawMessage, args []string, secrets *secret.Set) (c Calibration, err error) {
	if own == nil {
		c.traffic, err = read(args, secrets)
	} else {
		c.traffic, err = readAgain(own, args, secrets)
	}
	switch {
	case err != nil:
		return c, err
	case !c.opts.Streaming && !api.Kind(c.opts.Kind).GRPC():
		return c, errors.New("responses that are not streamed have no token times: add --streaming")
	case c.opts.Fleet.Workers != "":
		return c, errors.New("--workers is for runs and searches; a calibration makes its load on one machine")
	}
	c.plan = &plan.Plan{Target: plan.Target{Kind: plan.OpenAI, URL: c.opts.addresses()[0], Model: c.opts.model()}}
	return c, nil
}

// Plan is the plan of the run, for the result.
func (c Calibration) Plan() *plan.Plan { return c.wholePlan() }

// JSON is the file of the result; empty for none.
func (c Calibration) JSON() string { return c.opts.JSON }

// The server that a language-model run is calibrated with: its pace, and for how long it is asked.
const (
	floorTTFT  = 50 * time.Millisecond
	floorITL   = 10 * time.Millisecond
	floorTime  = 15 * time.Second
	floorFew   = 32
	floorMany  = 5000
	floorTurns = 3               // requests of each conversation at once, and seconds of a rate
	logWait    = 5 * time.Second // for the last lines of the server's log
)

// Measure measures the errors: it sends the traffic of a run to a server that keeps a pace and a log, and holds the times of the two
// against each other.
func (c Calibration) Measure(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
	o := c.opts
	run := &tokenRun{IO: p, sigs: sigs, opts: o, ttft: floorTTFT, itl: floorITL, brief: brief}
	fmt.Fprintf(p.Stdout, "server: the reference server, first token after %s, then a token every %s\n", run.ttft, run.itl)
	if o.TLS != (plan.TLS{}) || o.GRPCTLS || o.Insecure {
		fmt.Fprintln(p.Stdout, "TLS is not used")
	}
	fmt.Fprintln(p.Stdout, "error (client minus the server's log): of a token's time, p50 and p99; of the mean time to the first token, between tokens")
	return run.floors(nil, func(f calibrate.Floor) {
		p99 := report.Signed(f.P99Ns)
		if f.AtLeast {
			p99 = "≥ " + p99
		}
		fmt.Fprintf(p.Stdout, "%9s  %11s  %9s  %9s  %s\n", report.Signed(f.P50Ns), p99, report.Signed(f.Tokens.TTFTNs), report.Signed(f.Tokens.ITLNs), f.Traffic)
	})
}

// tokenRun sends prompts to a reference server that sends tokens at a pace and logs when they leave.
type tokenRun struct {
	*command.IO
	sigs      *command.Signals
	opts      *Plan
	ttft, itl time.Duration
	brief     func(load.Options, load.Level) load.Options
}

// floors measures the error at one level, or at all levels of the options where only is nil. show is called for each.
func (c *tokenRun) floors(only *load.Level, show func(calibrate.Floor)) ([]calibrate.Floor, error) {
	dir, err := os.MkdirTemp("", "redline-calibrate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log := &calibrate.Log{Path: filepath.Join(dir, "log.jsonl")}
	server, err := command.StartEmbedded(c.sigs.Soft, c.Silenced(), []string{"--ttft", c.ttft.String(), "--itl", c.itl.String(), "--request-log", log.Path})
	if err != nil {
		return nil, err
	}
	defer server.Stop() // does nothing the second time
	r := &traffic{IO: c.Silenced(), opts: c.opts.with(func(p *Plan) { p.redirect(server) }), sigs: c.sigs, load: c.opts.loadOptions()}
	defer r.close()
	if err := r.start(); err != nil {
		return nil, errors.New(cleantext.Line(err.Error()))
	}
	levels := r.opts.levels(r.timed)
	if only != nil {
		levels = []load.Level{*only}
	}
	var floors []calibrate.Floor
	began := clock.Now()
	for _, lv := range levels {
		f, err := r.tokenFloor(lv, c.brief(r.load, lv), log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lv.String(), err)
		}
		show(f)
		floors = append(floors, f)
	}
	wall := time.Duration(clock.Now() - began)
	server.Stop()
	for i := range floors {
		floors[i].Foreign = max(0, floors[i].Foreign-server.CPU().Seconds()/max(wall.Seconds(), 1e-3))
	}
	return floors, nil
}

// redirect turns a plan to the server, and leaves out all that it would write or wait for.
func (p *Plan) redirect(server *command.Embedded) {
	k := api.Kind(p.Kind)
	address := server.Address("openai")
	switch {
	case k.GRPC():
		address = server.Address(plan.GRPC)
	case k == api.Generate:
		address = server.Address(plan.HTTP)
	}
	switch k {
	case api.KServeText, api.Generate:
		p.Model = "ensemble"
	case api.KServeTokens:
		p.Model = "tensorrt_llm"
	default: // any name will do
	}
	if k != api.Template && k != api.Raw {
		p.Path = ""
	}
	p.URLs, p.Embedded, p.Wait.Timeout = []string{address}, false, 0
	p.TLS, p.GRPCTLS, p.Insecure, p.APIKey, p.APIKeyEnv = plan.TLS{}, false, false, "", ""
	p.JSON, p.Artifacts, p.GPUs, p.FindGPUs, p.Runs = "", "", nil, false, 1
	p.Outcome.ServerMetrics, p.Outcome.OwnMetrics = nil, false
}

// brief leaves of a load what a calibration needs.
func brief(o load.Options, lv load.Level) load.Options {
	n := floorTurns * lv.Concurrency
	switch {
	case lv.Mode == plan.FixedSchedule || len(lv.Stages) > 0: // the time ends it
		n = floorMany
	case lv.Rate > 0:
		n = int(lv.Rate * floorTurns)
	}
	o.Requests, o.Sessions = min(max(n, floorFew), floorMany), 0
	o.Duration, o.Grace = floorTime, floorTime
	o.Warmup, o.Cooldown, o.CancelShare, o.Until, o.Goodput, o.Confidence = load.Warmup{}, 0, 0, nil, nil, 0
	return o
}

// tokenFloor measures one level.
func (r *traffic) tokenFloor(lv load.Level, o load.Options, log *calibrate.Log) (calibrate.Floor, error) {
	var seen []calibrate.Stream
	failed := ""
	cfg := r.config(0)
	cfg.Options = o
	cfg.Sample = func(s *llm.Sample) {
		switch {
		case s.Class != record.OK && !s.Cut && failed == "":
			failed = s.Err
		case s.Class == record.OK && s.Streamed:
			seen = append(seen, streamOf(s))
		}
	}
	out, err := load.Run(r.sigs.Soft, r.sigs.Hard, cfg, lv)
	switch {
	case err != nil:
		return calibrate.Floor{}, err
	case r.sigs.Soft.Err() != nil:
		return calibrate.Floor{}, r.sigs.Soft.Err()
	case failed != "":
		return calibrate.Floor{}, fmt.Errorf("a request failed: %s", cleantext.Line(failed))
	case len(seen) == 0:
		return calibrate.Floor{}, errors.New("no response was streamed")
	}
	written, err := log.Streams(r.sigs.Soft, len(seen), logWait)
	if err != nil {
		return calibrate.Floor{}, err
	}
	pairs, err := calibrate.PairStreams(seen, written)
	if err != nil {
		return calibrate.Floor{}, err
	}
	late, means := calibrate.TokenErrors(pairs)
	sum, h := calibrate.Summarize(late), &out.Level.Health
	return calibrate.Floor{
		Traffic: r.trafficOf(&out.Level), P50Ns: sum.P50Ns, P99Ns: sum.P99Ns, AtLeast: sum.AtLeast, Requests: len(seen), Tokens: &means,
		CPUNs: h.CPUPerRequestNs, Busy: h.MachineShare,
		Foreign: h.MachineShare*float64(runtime.NumCPU()) - h.CPUCores, // floors takes off what the server used
		When:    time.Now().UTC().Truncate(time.Second),
	}, nil
}

// streamOf has the times of a sample.
func streamOf(s *llm.Sample) calibrate.Stream {
	return calibrate.Stream{ID: s.RequestID, From: clock.Wall(s.Sent), At: convert.All(s.Chunks, func(c llm.Chunk) int64 { return clock.Wall(c.At) })}
}

// trafficOf is what the calibration knows a level of a language model by. How many bytes its answers have is the server's
// affair: what counts is that they stream.
func (r *traffic) trafficOf(lv *result.Level) calibrate.Traffic {
	t := calibrate.Traffic{
		Protocol: "llm " + string(r.plan.Target.Protocol), Service: r.opts.Kind, Mode: "stream", Concurrency: lv.Concurrency, Rate: lv.Rate,
		InFlight: lv.Health.AchievedInFlight, RequestBytes: lv.Client.RequestBytes,
	}
	if m, ok := metric.Find(lv.Metrics, "output_token_throughput"); ok {
		t.PerSecond = m.Avg
	}
	if lv.Concurrency > 0 && lv.Rate == 0 {
		t.InFlight = float64(lv.Concurrency)
	}
	if v := r.plan.Target.HTTPVersion; v != "" {
		t.Mode += " HTTP/" + v
	}
	if lv.Mode == plan.FixedSchedule {
		t.Mode += " schedule"
	}
	return t
}
