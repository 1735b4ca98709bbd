package page

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// View is a result in the form that the page draws: columns instead of objects, milliseconds instead of nanoseconds. Its size
// does not depend on the length of the run.
type View struct {
	Name        string             `json:"name"`
	Tool        string             `json:"tool"`
	Version     string             `json:"version,omitempty"`
	Command     string             `json:"command,omitempty"`
	CommandLine string             `json:"command_line,omitempty"`
	Label       string             `json:"label,omitempty"`
	Model       string             `json:"model,omitempty"`
	Target      string             `json:"target,omitempty"`
	Start       string             `json:"start,omitempty"`
	Seconds     float64            `json:"seconds"`
	Scenario    string             `json:"scenario,omitempty"` // its name
	Verdict     result.State       `json:"verdict"`
	Meaning     string             `json:"meaning"` // of the verdict, in a sentence
	Reasons     []report.Reason    `json:"reasons,omitempty"`
	Notes       []string           `json:"notes,omitempty"`    // what keeps the verdict from being misread
	Untested    bool               `json:"untested,omitempty"` // valid, without a test of stability
	Judged      bool               `json:"judged"`
	Checks      []result.Check     `json:"checks,omitempty"`
	Goodput     string             `json:"goodput,omitempty"` // bounds of a good request
	Error       string             `json:"error,omitempty"`
	Live        bool               `json:"live,omitempty"` // the run is in progress
	Interrupted bool               `json:"interrupted,omitempty"`
	Environment result.Environment `json:"environment"`
	Workload    string             `json:"workload,omitempty"`
	Lost        []string           `json:"lost,omitempty"`  // what other tools did not get
	Fleet       string             `json:"fleet,omitempty"` // how exactly the workers of a fleet worked together, in a sentence
	Levels      []LevelView        `json:"levels"`
	Find        *result.Find       `json:"find,omitempty"`
	Tune        *result.Tune       `json:"tune,omitempty"`
	// Classes are the traffic classes of a scenario, Whole is what all of them did together; other runs have neither.
	Classes []ClassView     `json:"classes,omitempty"`
	Whole   *LevelView      `json:"whole,omitempty"`
	Plan    json.RawMessage `json:"plan,omitempty"`
}

// ClassView is one traffic class of a scenario.
type ClassView struct {
	Name    string          `json:"name"`
	Command string          `json:"command"`
	Model   string          `json:"model,omitempty"`
	Target  string          `json:"target,omitempty"`
	Verdict result.State    `json:"verdict"`
	Plan    json.RawMessage `json:"plan,omitempty"`
}

// LevelView is one level.
type LevelView struct {
	Name  string  `json:"name"`
	Class string  `json:"class,omitempty"` // traffic class of a scenario
	Open  bool    `json:"open,omitempty"`  // requests follow a schedule
	Load  float64 `json:"load"`            // concurrency or rate
	// Stages are the requested rates of a level that changes: from, to, seconds.
	Stages [][3]float64 `json:"stages,omitempty"`
	// Changes: the rate or the concurrency is not the same all the time.
	Changes  bool   `json:"changes,omitempty"`
	State    string `json:"state"` // stable, unstable, too short, unfinished, over the limit
	Reason   string `json:"reason,omitempty"`
	Requests uint64 `json:"requests"`
	Failed   uint64 `json:"failed"`
	// FailedEver of RequestsEver failed over the whole level; Failed and Requests are those of the windows.
	FailedEver   uint64 `json:"failed_ever"`
	RequestsEver uint64 `json:"requests_ever"`

	Unfinished  uint64   `json:"unfinished,omitempty"` // in flight at the end
	OldestMs    float64  `json:"oldest,omitempty"`     // age of the oldest
	Hold        string   `json:"hold,omitempty"`       // requests that the server held
	SentAgain   uint64   `json:"sent_again,omitempty"` // requests that were sent again
	Throughput  float64  `json:"throughput"`
	Responses   float64  `json:"responses,omitempty"`
	Latency     Summary  `json:"latency"`
	FromSend    *Summary `json:"from_send,omitempty"`
	First       *Summary `json:"first,omitempty"`
	Exact       bool     `json:"exact"`
	CallMs      float64  `json:"call"`
	SendMs      float64  `json:"send"`
	ReceiveMs   float64  `json:"receive"`
	OverheadPct float64  `json:"overhead"`
	Server      *Parts   `json:"server,omitempty"`
	// CDF is the distribution: latencies, and for each the share of requests at or below it.
	CDF      [2][]float64     `json:"cdf"`
	Time     *Times           `json:"time,omitempty"`
	Windows  []WindowView     `json:"windows,omitempty"`
	Failures []result.Failure `json:"failures,omitempty"`
	Health   result.Health    `json:"health"`
	Metrics  []result.Metric  `json:"metrics,omitempty"`
	Workers  []WorkerView     `json:"workers,omitempty"` // of a fleet
	// ServerMetrics are the server's own metrics, on the time axis of Time.
	ServerMetrics *ServerView `json:"server_metrics,omitempty"`
	// Traces are the slowest requests with the spans of client and server.
	Traces *TraceView `json:"traces,omitempty"`
}

// Summary is a distribution in milliseconds.
type Summary struct {
	Avg         float64      `json:"avg"`
	Min         float64      `json:"min"`
	Max         float64      `json:"max"`
	Std         float64      `json:"std"`
	Percentiles [][2]float64 `json:"p"`
	AtLeast     []float64    `json:"at_least,omitempty"` // percentiles that requests in flight at the end leave open
}

// Parts are the parts of a request's time by the server's counters, in milliseconds.
type Parts struct {
	Name     string  `json:"name"`
	Count    uint64  `json:"count"`
	Execs    uint64  `json:"executions"`
	Queue    float64 `json:"queue"`
	Input    float64 `json:"input"`
	Infer    float64 `json:"infer"`
	Output   float64 `json:"output"`
	Overhead float64 `json:"overhead"`
	CacheHit uint64  `json:"cache_hits,omitempty"`
	Parts    []Parts `json:"parts,omitempty"`
}

// Times is a timeline in columns.
type Times struct {
	Step     float64              `json:"step"` // seconds
	Ended    []float64            `json:"ended"`
	Sent     []float64            `json:"sent"`
	Asked    []float64            `json:"asked,omitempty"`
	InFlight []float64            `json:"in_flight"`
	Avg      []*float64           `json:"avg"`
	P50      []*float64           `json:"p50"`
	P90      []*float64           `json:"p90"`
	P99      []*float64           `json:"p99"`
	Max      []*float64           `json:"max"`
	FirstP50 []*float64           `json:"first_p50,omitempty"`
	FirstP99 []*float64           `json:"first_p99,omitempty"`
	Events   []float64            `json:"events,omitempty"`
	Tokens   []float64            `json:"tokens,omitempty"`
	GapP50   []*float64           `json:"gap_p50,omitempty"`
	GapP99   []*float64           `json:"gap_p99,omitempty"`
	Failed   map[string][]float64 `json:"failed,omitempty"` // by class, per second
	// Heat is a list of slice, bucket and count, repeated; Edges and Lows are the bounds of the buckets.
	Heat  []uint64  `json:"heat,omitempty"`
	Edges []float64 `json:"edges,omitempty"`
	Lows  []float64 `json:"lows,omitempty"`
}

// WindowView is one window.
type WindowView struct {
	From       float64 `json:"from"` // seconds after the start of the level's timeline
	To         float64 `json:"to"`
	Used       bool    `json:"used"`
	Requests   uint64  `json:"requests"`
	Throughput float64 `json:"throughput"`
	Avg        float64 `json:"avg"`
	P99        float64 `json:"p99"`
}

const nsPerMs = 1e6

func ms[T int64 | float64](ns T) float64 { return round(float64(ns) / nsPerMs) }

// round keeps six digits: more are noise and make the page larger.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// NewView makes the view of a result. The page calls the run by name.
func NewView(name string, res *result.Result) *View {
	v := &View{
		Name: name, Tool: res.Tool, Version: res.Version, Command: res.Command, CommandLine: cleantext.Block(res.CommandLine, 4000), Label: res.Label,
		Scenario: cleantext.Line(res.Scenario), Verdict: res.Verdict.State, Meaning: report.Meaning(res), Reasons: report.Reasons(res), Notes: report.Notes(res), Untested: report.Untested(res), Judged: res.Verdict.State.Judged(), Checks: cleanChecks(res.Checks), Goodput: res.GoodputBounds,
		Error: cleantext.Line(res.Error), Interrupted: res.Interrupted, Environment: res.Environment, Workload: res.Workload, Levels: []LevelView{},
	}
	if res.StartUnixNs > 0 {
		v.Start = time.Unix(0, res.StartUnixNs).UTC().Format("2006-01-02 15:04:05 UTC")
		v.Seconds = round(float64(res.EndUnixNs-res.StartUnixNs) / 1e9)
	}
	if p := res.Plan.Public(); p != nil {
		v.Model, v.Target = p.Target.Model, p.Target.URL
		v.Plan, _ = json.Marshal(p) // a plan is plain data
	}
	v.Fleet = fleetText(res.Fleet)
	v.Find, v.Tune = cleanFind(res.Find), cleanTune(res.Tune)
	for i := range res.Telemetry {
		if lost := res.Telemetry[i].Lost(); lost != "" {
			v.Lost = append(v.Lost, cleantext.Line(lost))
		}
	}
	for i := range res.Levels {
		v.Levels = append(v.Levels, levelView(&res.Levels[i]))
	}
	if res.Whole != nil && len(res.Classes) > 1 {
		v.Whole, v.Classes = new(levelView(res.Whole)), classViews(res.Classes)
	}
	return v
}

func classViews(list []result.Class) []ClassView {
	var out []ClassView
	for i := range list {
		c := ClassView{Name: cleantext.Line(list[i].Name), Command: list[i].Command, Verdict: list[i].Verdict.State}
		if p := list[i].Plan.Public(); p != nil {
			c.Model, c.Target = p.Target.Model, p.Target.URL
			c.Plan, _ = json.Marshal(p) // a plan is plain data
		}
		out = append(out, c)
	}
	return out
}

// cleanChecks are checks whose texts can be shown; they may hold the name of a file.
func cleanChecks(list []result.Check) []result.Check {
	list = slices.Clone(list)
	for i := range list {
		list[i].Rule, list[i].Text = cleantext.Line(list[i].Rule), cleantext.Line(list[i].Text)
	}
	return list
}

// cleanFailures are failures whose texts can be shown.
func cleanFailures(list []result.Failure) []result.Failure {
	list = slices.Clone(list)
	for i := range list {
		list[i].Text = cleantext.Line(list[i].Text)
	}
	return list
}

func levelView(lv *result.Level) LevelView {
	c := &lv.Client
	failed, all := measure.Counts(lv)
	out := LevelView{
		Name: measure.LevelName(lv), Load: lv.Rate, State: state(lv), Reason: cleantext.Line(lv.Reason),
		Class:    cleantext.Line(lv.Class),
		Open:     lv.Mode.Scheduled(),
		Requests: c.Requests, Failed: c.Failed, FailedEver: failed, RequestsEver: all, Unfinished: c.Unfinished, OldestMs: ms(c.OldestNs), SentAgain: c.Resent, Throughput: round(c.InferPerSec), Latency: summary(&c.Latency),
		Exact: !c.Latency.Approximate, CallMs: ms(int64(c.CallNs)), SendMs: ms(int64(c.SendNs)), ReceiveMs: ms(int64(c.RecvNs)),
		OverheadPct: round(c.OverheadPercent), Failures: cleanFailures(lv.Failures), Health: lv.Health, Metrics: lv.Metrics,
		Workers: workerViews(lv.Workers),
	}
	out.Changes = len(lv.Stages) > 0
	if lv.Concurrency > 0 {
		out.Load = float64(lv.Concurrency)
	}
	if lv.Mode == plan.RequestRate {
		out.Stages = convert.All(lv.Stages, func(s pace.Stage) [3]float64 {
			return [3]float64{round(s.From), round(s.To), s.Time.Seconds()}
		})
	}
	if c.Responses != c.Requests {
		out.Responses = round(c.ResponsePerSec)
	}
	if out.Open {
		out.FromSend = new(summary(&c.Sent))
	}
	if c.First != nil && c.First.Count > 0 {
		out.First = new(summary(c.First))
	}
	if lv.Hold != nil {
		out.Hold = lv.Hold.String()
	}
	if lv.Server != nil {
		out.Server = new(parts(lv.Server))
	}
	out.CDF = cdf(lv.Histogram)
	if lv.Timeline != nil && len(lv.Timeline.Slices) > 0 {
		out.Time = times(lv.Timeline, out.Open)
	}
	out.Windows = windows(lv)
	out.ServerMetrics, out.Traces = serverView(lv), traceView(lv.ServerTraces)
	return out
}

func state(lv *result.Level) string {
	switch {
	case lv.Unfinished:
		return "unfinished"
	case lv.OverLimit:
		return "over the limit"
	case lv.TooShort:
		return "too short"
	case !lv.Stable:
		return "unstable"
	case lv.Untested:
		return "stability not tested"
	}
	return "stable"
}

func summary(l *result.Metric) Summary {
	s := Summary{Avg: ms(l.Avg), Min: ms(l.Min), Max: ms(l.Max), Std: ms(l.Std), Percentiles: [][2]float64{}}
	for _, p := range l.Quantiles {
		s.Percentiles = append(s.Percentiles, [2]float64{p.P, ms(p.V)})
		if p.AtLeast {
			s.AtLeast = append(s.AtLeast, p.P)
		}
	}
	return s
}

func parts(s *result.Server) Parts {
	st := &s.Stats
	avg := func(t service.Tally) float64 { return ms(int64(t.Avg())) }
	p := Parts{
		Name: st.Name, Count: st.InferenceCount, Execs: st.ExecutionCount, Queue: avg(st.Queue), Input: avg(st.ComputeInput),
		Infer: avg(st.ComputeInfer), Output: avg(st.ComputeOutput), CacheHit: st.CacheHit.Count,
	}
	p.Overhead = round(max(0, avg(st.Success)-p.Queue-p.Input-p.Infer-p.Output))
	for i := range s.Composing {
		p.Parts = append(p.Parts, parts(&s.Composing[i]))
	}
	return p
}

// cdf sums the buckets.
func cdf(h *result.Histogram) [2][]float64 {
	out := [2][]float64{{}, {}}
	if h == nil {
		return out
	}
	var n, seen uint64
	for _, b := range h.Buckets {
		n += b.Count
	}
	for _, b := range h.Buckets {
		seen += b.Count
		out[0] = append(out[0], ms(b.UpToNs))
		out[1] = append(out[1], float64(seen)/float64(n))
	}
	return out
}

func windows(lv *result.Level) []WindowView {
	var out []WindowView
	var base int64
	if lv.Timeline != nil {
		base = lv.Timeline.StartUnixNs
	} else if len(lv.Windows) > 0 {
		base = lv.Windows[0].StartUnixNs
	}
	for i, w := range lv.Windows {
		out = append(out, WindowView{
			From: round(float64(w.StartUnixNs-base) / 1e9), To: round(float64(w.EndUnixNs-base) / 1e9), Used: i >= len(lv.Windows)-lv.Dead-lv.Used && i < len(lv.Windows)-lv.Dead,
			Requests: w.Client.Requests, Throughput: round(w.Client.InferPerSec), Avg: ms(w.Client.Latency.Avg), P99: ms(w.Client.Latency.At(99)),
		})
	}
	return out
}

func times(t *result.Timeline, scheduled bool) *Times {
	out := &Times{Step: float64(t.StepNs) / 1e9}
	perSecond := func(n uint64) float64 { return round(float64(n) / out.Step) }
	maybe := func(ns int64, ok bool) *float64 {
		if !ok {
			return nil
		}
		return new(ms(ns))
	}
	slices := t.Slices
	if n := len(slices); n > 4 {
		slices = slices[:n-1] // the level ended within the last slice, which would look like a drop
	}
	streamed, tokens, cells := false, false, 0
	for i := range slices {
		s := &slices[i]
		cells += len(s.Heat)
		streamed = streamed || s.FirstP50Ns > 0 && s.Events > s.Ended
		tokens = tokens || s.Tokens > 0
	}
	if cells > 0 {
		out.Heat = make([]uint64, 0, 3*cells)
	}
	edges := map[int64]uint64{}
	for i := range slices {
		s := &slices[i]
		out.Ended = append(out.Ended, perSecond(s.Ended))
		out.Sent = append(out.Sent, perSecond(s.Sent))
		out.InFlight = append(out.InFlight, round(s.InFlight))
		if scheduled {
			out.Asked = append(out.Asked, round(s.Asked))
		}
		some := s.Ended > 0
		out.Avg = append(out.Avg, maybe(s.AvgNs, some))
		out.P50 = append(out.P50, maybe(s.P50Ns, some))
		out.P90 = append(out.P90, maybe(s.P90Ns, some))
		out.P99 = append(out.P99, maybe(s.P99Ns, some))
		out.Max = append(out.Max, maybe(s.MaxNs, some))
		if streamed {
			out.FirstP50 = append(out.FirstP50, maybe(s.FirstP50Ns, some))
			out.FirstP99 = append(out.FirstP99, maybe(s.FirstP99Ns, some))
			out.Events = append(out.Events, perSecond(s.Events))
		}
		if tokens {
			out.Tokens = append(out.Tokens, round(s.Tokens/out.Step))
			out.GapP50 = append(out.GapP50, maybe(s.GapP50Ns, s.GapP50Ns > 0))
			out.GapP99 = append(out.GapP99, maybe(s.GapP99Ns, s.GapP99Ns > 0))
		}
		for class, n := range s.FailedBy {
			if out.Failed == nil {
				out.Failed = map[string][]float64{}
			}
			if out.Failed[class] == nil {
				out.Failed[class] = make([]float64, len(slices))
			}
			out.Failed[class][i] = perSecond(n)
		}
		for _, b := range s.Heat {
			k, ok := edges[b.UpToNs]
			if !ok {
				k = uint64(len(out.Edges))
				edges[b.UpToNs] = k
				out.Edges = append(out.Edges, ms(b.UpToNs))
				out.Lows = append(out.Lows, ms(measure.HeatLow(b.UpToNs)))
			}
			out.Heat = append(out.Heat, uint64(i), k, b.Count)
		}
	}
	return out
}
