package redline

import (
	"encoding/json"
	"time"

	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

// Result is what a run measured.
type Result struct {
	// Verdict says whether the numbers can be trusted: valid, unstable, too-short, client-limited, server-failed, failed or
	// interrupted. Reasons say why it is not valid, each with advice.
	Verdict string
	Reasons []string
	Levels  []Level // in the order in which they were measured
	// JSON is the whole result, as --json of `redline profile` writes it; docs/result.schema.json describes it.
	JSON json.RawMessage
}

// Level is what was measured at one load setting.
type Level struct {
	Concurrency int     // requests in flight, in closed loop
	Rate        float64 // requests per second, in open loop
	Requests    uint64  // that succeeded
	Failed      uint64
	Throughput  float64 // inferences per second: requests times the batch size
	Latency     Latency
	Stable      bool
}

// Latency summarizes the latencies of a level: from the send time in closed loop, from the due time in open loop.
type Latency struct {
	Mean, Min, Max time.Duration

	latency result.Metric
}

// Percentile returns the latency at a percentile that was computed: 50, 90, 95, 99 and that of the option --percentile. It
// returns 0 for others.
func (l *Latency) Percentile(p float64) time.Duration { return time.Duration(l.latency.At(p)) }

func newResult(res *result.Result) (*Result, error) {
	r := &Result{Verdict: string(res.Verdict.State)}
	for _, reason := range res.Verdict.Reasons {
		r.Reasons = append(r.Reasons, reason.What+"; "+reason.Try)
	}
	for i := range res.Levels {
		lv := &res.Levels[i]
		l := lv.Client.Latency
		r.Levels = append(r.Levels, Level{
			Concurrency: lv.Concurrency, Rate: lv.Rate, Requests: lv.Client.Requests, Failed: lv.Client.Failed,
			Throughput: lv.Client.InferPerSec, Stable: lv.Stable,
			Latency: Latency{Mean: time.Duration(l.Avg), Min: time.Duration(l.Min), Max: time.Duration(l.Max), latency: l},
		})
	}
	var err error
	r.JSON, err = report.Encode(res, report.Compact)
	return r, err
}
