//go:build linux

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// made describes a result that is made up, so that its page is known in advance.
type made struct {
	levels   int  // concurrency 1, 2, 4, ...
	requests int  // of a level
	tokens   bool // of a language model, with goodput
	failing  bool
	checks   []result.Check
	label    string
	start    time.Time
	alter    func(*result.Result) // makes it the result of another command
}

// result makes the result. The levels stand in the order in which a binary search visits them: the largest second.
func (m made) result() *result.Result {
	res := &result.Result{
		Schema: result.Schema, Tool: "redline", Version: "9.9.9", Command: "profile", CommandLine: "redline profile -m made --concurrency-range 1:8", Label: m.label, Workload: "w1",
		StartUnixNs: m.start.UnixNano(), EndUnixNs: m.start.UnixNano() + 30e9, Plan: &plan.Plan{Target: plan.Target{Model: "made", URL: "host:8000"}},
		Verdict: result.Verdict{State: result.Valid}, Checks: m.checks,
		Environment: result.Environment{OS: "linux", Arch: "amd64", Go: "go1.26", CPUs: 8, Hostname: "client"},
	}
	if m.tokens {
		res.GoodputBounds = "inter_token_latency:20 time_to_first_token:200"
	}
	for i := range m.levels {
		res.Levels = append(res.Levels, m.level(1<<i))
	}
	if m.levels > 2 {
		res.Levels[1], res.Levels[m.levels-1] = res.Levels[m.levels-1], res.Levels[1]
	}
	if m.failing {
		res.Verdict = result.Verdict{State: result.ServerFailed, Reasons: []result.Reason{{What: "concurrency 1: 10 % of the requests failed", Try: "look at the server's log"}}}
	}
	if m.alter != nil {
		m.alter(res)
	}
	return res
}

func (m made) level(concurrency int) result.Level {
	base := int64(2+concurrency) * 1e6
	setup := measure.Setup{}
	win, line := measure.NewWindow(setup), measure.NewTimeline(setup, 1)
	for i := range int64(m.requests) {
		at := i*base/int64(concurrency) + 1
		latency := base + (i*7919)%(base/2)
		r := record.Record{Due: at, Sent: at, Written: at + 1000, First: at + latency/2, End: at + latency, Responses: 1}
		if m.failing && i%10 == 9 {
			r.Class = record.Server
		}
		win.Add(&r)
		line.Add(&r)
	}
	from, to := win.Span()
	lv := result.Level{
		Mode: plan.Concurrency, Concurrency: concurrency, Stable: true, Accepted: true, Client: win.Client(time.Duration(to - from)),
		Histogram: win.Histogram(), Timeline: line.Result(to), Batches: line.Batches(from, to),
		Health: result.Health{AskedInFlight: float64(concurrency), AchievedInFlight: float64(concurrency), AchievedRate: 1e3, CPUCores: 0.4, MachineShare: 0.2, CPUPerRequestNs: 21e3},
	}
	if m.failing {
		lv.Failures = []result.Failure{{Class: "server 503", Text: "the queue of the model is full, with a text that is long enough to need more than one line on a telephone", Count: uint64(m.requests / 10)}}
	}
	if m.tokens {
		lv.Metrics = m.metrics(concurrency)
	}
	return lv
}

func (m made) metrics(concurrency int) []result.Metric {
	dist := func(tag, name string, mid float64) result.Metric {
		d := result.Metric{Tag: tag, Name: name, Unit: "ms", Avg: mid, Count: uint64(m.requests), Min: mid / 2, Max: 3 * mid, Std: mid / 4}
		for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99} {
			d.Quantiles = append(d.Quantiles, result.Quantile{P: p, V: mid * (0.5 + p/100)})
		}
		return d
	}
	c := float64(concurrency)
	return []result.Metric{
		dist("time_to_first_token", "Time to First Token", 20+5*c), dist("inter_token_latency", "Inter Token Latency", 8+c), dist("request_latency", "Request Latency", 400+30*c),
		{Tag: "output_token_throughput", Name: "Output Token Throughput", Unit: "tokens/sec", Avg: 100 * c / (1 + c/50), Higher: true},
		{Tag: "goodput", Name: "Goodput", Unit: "requests/sec", Avg: c / (1 + c/20), Higher: true},
		{Tag: "good_request_fraction", Name: "Good Request Fraction", Unit: "ratio", Avg: 1 / (1 + c/100), Higher: true},
	}
}

// open writes the page of the result to a file and opens it.
func (m made) open(t *testing.T) *tab {
	t.Helper()
	needBrowser(t)
	path := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := page.Write(f, page.Data{Title: "made", Runs: []*page.View{page.NewView("made", m.result())}}, nil); err != nil {
		t.Fatal(err)
	}
	p := open(t, "file://"+path)
	p.want("the page is loaded", `document.readyState`, "complete")
	p.drawn()
	return p
}

// name names the pictures of the page.
func (m made) name() string {
	name := fmt.Sprintf("%d-levels-of-%d", m.levels, m.requests)
	if m.tokens {
		name += "-tokens"
	}
	if m.failing {
		name += "-failing"
	}
	return name
}
