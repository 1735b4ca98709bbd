package text

import (
	"fmt"
	"io"
	"strconv"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// Console is the report on the screen. Out receives the report, Err the remarks beside it.
type Console struct {
	Out, Err io.Writer
	Plan     *plan.Plan
	// Model is the server's description of the model; nil if the service kind has none.
	Model *service.Model
	// Async is the call mode of the run.
	Async bool
}

// DataRead reports the size of the JSON input data.
func (c *Console) DataRead(streams, steps int) {
	if streams == 1 {
		c.Say(fmt.Sprintf(" Successfully read data for %d stream/streams with %d step/steps.", streams, steps))
	} else {
		c.Say(fmt.Sprintf(" Successfully read data for %d stream/streams.", streams))
	}
}

// Header announces a level. Modes without a level have no header.
func (c *Console) Header(l *result.Level) {
	var p page
	header(&p, l)
	p.to(c.Out)
}

func header(p *page, l *result.Level) {
	switch l.Mode {
	case plan.Concurrency:
		p.linef("Request concurrency: %d", l.Concurrency)
	case plan.RequestRate:
		if len(l.Stages) > 0 {
			p.linef("Request rate in stages: %s", pace.FormatStages(l.Stages))
			return
		}
		p.linef("Request Rate: %s inference requests per second", number(l.Rate))
	case plan.CustomIntervals, plan.PeriodicConcurrency, plan.SessionConcurrency, plan.FixedSchedule:
	}
}

// Pass reports one window as it ends, on a verbose run. n counts from 1 in each level.
func (c *Console) Pass(n int, w *result.Window) {
	if c.Plan.Verbose == 0 {
		return
	}
	var p page
	lat := &w.Client.Latency
	switch pct := c.Plan.Measure.Percentile; {
	case c.Plan.Measure.StopOnFailure && w.Error == result.RequestsFailed:
		// A failed request ended the window: perf_analyzer checks its threads while it counts requests, but not in a time window.
		p.linef("  Pass [%d] cb::Error: %s", n, loadFailed(c.Async))
	case w.Error != "" && w.Client.Requests+w.Client.Failed == 0 && !c.Plan.Policies.BareReport:
		p.linef("  Pass [%d] no request ended", n)
	case w.Error != "" && w.Client.Requests == 0 && !c.Plan.Policies.BareReport:
		p.linef("  Pass [%d] no request succeeded, %d failed", n, w.Client.Failed)
	case w.Error != "" && !c.Plan.Policies.BareReport:
		p.linef("  Pass [%d] %s (%d of %d)", n, w.Error, w.Client.Failed, w.Client.Failed+w.Client.Requests)
	case w.Error != "" && w.Client.Requests == 0:
		p.linef("  Pass [%d] cb::Error: %s", n, NoValidRequests)
	case w.Error != "":
		p.linef("  Pass [%d] cb::Error: %s", n, w.Error)
	case pct > 0:
		p.linef("  Pass [%d] throughput: %s infer/sec. p%d latency: %d usec",
			n, rate(w.Client.InferPerSec), pct, us(lat.At(float64(pct))))
	default:
		p.linef("  Pass [%d] throughput: %s infer/sec. Avg latency: %d usec (std %d usec). ",
			n, rate(w.Client.InferPerSec), us(lat.Avg), us(lat.Std))
	}
	p.to(c.Out)
}

// Level reports what was measured at a level: the client's view, the server's, its GPUs, and a warning when the
// client could not keep up.
func (c *Console) Level(l *result.Level) {
	var out, remarks page
	c.level(&out, &remarks, l)
	out.to(c.Out)
	remarks.to(c.Err)
}

// Partial reports on Err what was measured before the run ended early.
func (c *Console) Partial(l *result.Level) {
	if l.Client.Requests == 0 {
		return
	}
	var out, remarks page
	out.linef("Measured before the run ended:")
	header(&out, l)
	c.level(&out, &remarks, l)
	out.to(c.Err)
	remarks.to(c.Err)
}

func (c *Console) level(out, remarks *page, l *result.Level) {
	if l.Client.Requests == 1 && c.Plan.Policies.BareReport {
		remarks.linef("%s", SingleRequest)
	}
	out.linef("  Client: ")
	c.client(out, &l.Client)
	if c.late(l) {
		remarks.linef("%s", Late(us(l.Client.Sent.Avg), us(l.Client.Due.Avg)))
	}
	if l.Hold != nil && c.Plan.Policies.BareReport { // the health block of redline profile has it
		remarks.linef("WARNING: Held by the server: %s.", l.Hold)
	}
	if serverStats(c.Model) && (l.Server != nil || c.Plan.Policies.BareReport) {
		out.linef("  Server: ")
		s := result.Server{}
		if l.Server != nil {
			s = *l.Server
		}
		b := serverBlock{out: out, remarks: remarks, model: c.Model}
		b.write(&s, 1)
	}
	if c.Plan.Target.Metrics.Collect {
		out.linef("  Server Prometheus Metrics: ")
		gpus(out, l.GPU)
	}
	if l.Client.OverheadPercent > 50 && c.Plan.Policies.BareReport { // the verdict of redline profile judges the client
		out.linef("%s", KeepUp)
	}
}

// late reports whether the latencies from due time and send time of an open loop differ: by a tenth, and by more than jitter.
func (c *Console) late(l *result.Level) bool {
	if l.Mode == plan.Concurrency || !c.Plan.Policies.BareReport {
		return false
	}
	const jitter = 100_000
	sent, due := l.Client.Sent.Avg, l.Client.Due.Avg
	return due-sent > max(jitter, sent/10)
}

// Summary ends the report with one line per level, in the order measured.
func (c *Console) Summary(levels []result.Level) {
	levels = Reported(c.Plan, levels)
	if len(levels) == 0 {
		return
	}
	var p page
	pct := c.Plan.Measure.Percentile
	if pct > 0 {
		p.linef("Inferences/Second vs. Client p%d Batch Latency", pct)
	} else {
		p.linef("Inferences/Second vs. Client Average Batch Latency")
	}
	for i := range levels {
		l := &levels[i]
		ns := l.Client.Latency.Avg
		if pct > 0 {
			ns = l.Client.Latency.At(float64(pct))
		}
		name := "Request Rate"
		if c.Plan.Load.Mode == plan.Concurrency {
			name = "Concurrency"
		}
		p.linef("%s: %s, throughput: %s infer/sec, latency %d usec%s",
			name, levelValue(c.Plan, l), rate(l.Client.InferPerSec), us(ns), c.mark(l))
	}
	p.to(c.Out)
}

// mark describes the problem of a level that only redline profile reports.
func (c *Console) mark(l *result.Level) string {
	switch {
	case c.Plan.Policies.BareReport:
		return ""
	case l.Unfinished:
		return " (unfinished)"
	case !l.Stable:
		return " (unstable)"
	case l.OverLimit:
		return " (over the limit)"
	case l.TooShort:
		return " (too short)"
	}
	return ""
}

// Reported selects the levels for reports. perf_analyzer mode omits levels that were not accepted; redline profile shows all.
// Modes without levels have no report.
func Reported(p *plan.Plan, levels []result.Level) []result.Level {
	if p.Load.Mode == plan.PeriodicConcurrency || p.Load.Mode == plan.SessionConcurrency {
		return nil
	}
	var out []result.Level
	for i := range levels {
		if levels[i].Accepted && !levels[i].Idle || !p.Policies.BareReport && levels[i].Client.Requests > 0 {
			out = append(out, levels[i])
		}
	}
	return out
}

// levelValue is the number that names a level. A fixed schedule is one level of rate 1.
func levelValue(p *plan.Plan, l *result.Level) string {
	switch p.Load.Mode {
	case plan.Concurrency:
		return strconv.Itoa(l.Concurrency)
	case plan.FixedSchedule:
		return "1"
	case plan.RequestRate, plan.CustomIntervals, plan.PeriodicConcurrency, plan.SessionConcurrency:
	}
	return number(l.Rate)
}

// serverStats reports whether the server's counters are part of the report.
func serverStats(m *service.Model) bool { return m != nil && m.Statistics }

func decoupled(m *service.Model) bool { return m != nil && m.Decoupled }
