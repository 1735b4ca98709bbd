package text_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// simplePlan is `-m simple -p 1000`.
func simplePlan() *plan.Plan {
	return &plan.Plan{
		Policies: plan.Policies{BareReport: true},
		Target:   plan.Target{Kind: plan.Triton, Protocol: plan.HTTP, Model: "simple"},
		Load: plan.Load{
			Mode: plan.Concurrency, Search: plan.Linear, Distribution: plan.Constant,
			Concurrency: plan.IntRange{Start: 1, End: 1, Step: 1}, Rate: plan.FloatRange{Start: 1, End: 1, Step: 1},
			MaxThreads: 4,
		},
		Input:   plan.Input{Batch: 1},
		Measure: plan.Measure{Window: plan.TimeWindows, Interval: time.Second, MinRequests: 50, MaxTrials: 3},
	}
}

func simpleModel() *service.Model { return &service.Model{Name: "simple", Statistics: true} }

func usec(n int64) int64 { return n*1000 + 999 } // any nanoseconds below the next microsecond

func latency(avg, std int64, p ...int64) result.Metric {
	l := result.Metric{Unit: result.Nanoseconds, Avg: float64(usec(avg)), Std: float64(usec(std))}
	for i, q := range []float64{50, 90, 95, 99}[:len(p)] {
		l.Quantiles = append(l.Quantiles, result.Quantile{P: q, V: float64(usec(p[i]))})
	}
	return l
}

func tally(count, avgUs uint64) service.Tally {
	return service.Tally{Count: count, Ns: count * avgUs * 1000}
}

// simpleLevel holds the numbers of a recorded run.
func simpleLevel() result.Level {
	return result.Level{
		Mode: plan.Concurrency, Concurrency: 1, Accepted: true, Stable: true,
		Client: result.Client{
			Requests: 7462, InferPerSec: 2051.6249, Latency: latency(476, 276, 427, 638, 674, 918),
			CallNs: 472_100, SendNs: 67_500, RecvNs: 300,
		},
		Server: &result.Server{Stats: service.ModelStats{
			Name: "simple", Version: "1", InferenceCount: 7463, ExecutionCount: 7463,
			Success: tally(7463, 291), Queue: tally(7463, 50),
			ComputeInput: tally(7463, 20), ComputeInfer: tally(7463, 149), ComputeOutput: tally(7463, 69),
		}},
	}
}

// console returns a console and what it wrote so far to both streams.
func console(p *plan.Plan, m *service.Model) (c *text.Console, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	return &text.Console{Out: out, Err: errs, Plan: p, Model: m}, out, errs
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s (-got +want):\n%s", what, d)
	}
}
