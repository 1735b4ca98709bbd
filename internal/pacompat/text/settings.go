package text

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/plan"
)

// kindNames are perf_analyzer's names of kinds that are not the kind in capitals.
var kindNames = map[plan.Kind]string{plan.TFServing: "TENSORFLOW_SERVING"}

// Settings writes the block that opens every run.
func (c *Console) Settings() {
	var p page
	pl := c.Plan
	p.linef("*** Measurement Settings ***")
	if pl.Target.Kind == plan.Triton || pl.Input.BatchSet {
		p.linef("  Batch size: %d", pl.Input.Batch)
	}
	name := cmp.Or(kindNames[pl.Target.Kind], strings.ToUpper(string(pl.Target.Kind)))
	if c.Model != nil && c.Model.Unconfigured {
		name = "KSERVE_V2" // the kind is called triton, but this server is none
	}
	p.linef("  Service Kind: %s", name)
	if n := pl.Measure.WarmupCount; n > 0 {
		p.linef("  Sending %d warmup request%s", n, plural(n))
	}
	if n := pl.Measure.RequestCount; n > 0 {
		p.linef("  Sending %d benchmark request%s", n, plural(n))
	} else {
		c.stabilization(&p)
	}
	c.limits(&p)
	if !pl.Segment.Whole() {
		p.linef("  Sending part %d of %d of the load; these settings are those of all parts together", pl.Segment.Index+1, pl.Segment.Of)
	}
	if pl.Load.Mode == plan.RequestRate {
		word := string(pl.Load.Distribution)
		if pl.Load.Distribution == plan.Constant && pl.Policies.BareReport {
			word = "uniform" // perf_analyzer's word for constant
		}
		p.linef("  Using %s distribution on request generation", word)
	}
	if pl.Load.Search == plan.Binary {
		p.linef("  Using Binary Search algorithm")
	}
	if c.Async {
		p.linef("  Using asynchronous calls for inference")
	} else {
		p.linef("  Using synchronous calls for inference")
	}
	if decoupled(c.Model) {
		if !pl.Policies.BareReport {
			p.linef("  Detected decoupled model, reporting the first and the last response")
		} else {
			p.linef("  Detected decoupled model, using the first response for measuring latency")
		}
	}
	p.linef("")
	p.to(c.Out)
}

func (c *Console) stabilization(p *page) {
	m := &c.Plan.Measure
	p.linef("  Using %q mode for stabilization", string(m.Window))
	metric := "latency and throughput"
	if c.Async {
		metric = "throughput"
	}
	if m.Percentile > 0 {
		p.linef("  Stabilizing using p%d%s", m.Percentile, metric)
	} else {
		p.linef("  Stabilizing using average %s", metric)
	}
	if m.Window == plan.CountWindows {
		p.linef("  Minimum number of samples in each window: %d", m.MinRequests)
	} else {
		p.linef("  Measurement window: %s msec", millis(m.Interval))
	}
}

// limits writes where the search ends. A range that ends at 1 is not a range.
func (c *Console) limits(p *page) {
	load := &c.Plan.Load
	end, limit := load.Rate.End, "Request Rate limit: "+number(max(load.Rate.Start, load.Rate.End))+" requests per seconds"
	if load.Mode == plan.Concurrency {
		levels := load.Concurrency
		if levels.End == 0 && !c.Async {
			levels.End = load.MaxThreads // one thread carries one synchronous request
		}
		end, limit = float64(levels.End), fmt.Sprintf("Concurrency limit: %d concurrent requests", max(levels.Start, levels.End))
	}
	if load.Mode != plan.Concurrency && load.Mode != plan.RequestRate || end == 1 {
		return
	}
	p.linef("  Latency limit: %s msec", millis(c.Plan.Measure.LatencyLimit))
	if end != 0 {
		p.linef("  %s", limit)
	}
}

// millis is a time in milliseconds. A time of redline profile may be a fraction.
func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64)
}

func plural(n int) string {
	if n > 1 {
		return "s"
	}
	return ""
}
