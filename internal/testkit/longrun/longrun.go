// Package longrun makes results of runs with any number of requests, without the requests: everything that a result keeps of a long
// run is filled as far as a run can fill it.
package longrun

import (
	"math"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// What a level of a long run keeps: 240 slices of time, eight buckets for each doubling of the latency in a slice's heat map, a
// histogram of all buckets of stats.Octave, and texts of failures.
const (
	slices   = 240
	heat     = stats.Octaves / 8
	shortest = 30_000        // ns
	longest  = 2_000_000_000 // ns

	mostTexts = 64 // of failures, as the engine keeps
)

// Result is the result of a run with this many requests at each level, of concurrency 1, 2, 4 and so on. Latencies lie between 30 µs
// and 2 s, most of them around 2 ms.
func Result(levels int, requests uint64) *result.Result {
	res := &result.Result{
		Schema: result.Schema, Tool: "redline", Version: "9.9.9", Command: "profile", CommandLine: "redline profile -m long --concurrency-range 1:4096:2",
		StartUnixNs: 1_767_323_045e9, EndUnixNs: 1_767_323_045e9, Plan: &plan.Plan{Target: plan.Target{Model: "long", URL: "host:8000"}},
		Verdict:     result.Verdict{State: result.Valid},
		Environment: result.Environment{OS: "linux", Arch: "amd64", Go: "go1.26", CPUs: 8, Hostname: "client"},
	}
	for i := range levels {
		res.Levels = append(res.Levels, level(1<<i, requests, res.EndUnixNs))
		res.EndUnixNs += res.Levels[i].Client.DurationNs
	}
	return res
}

func level(concurrency int, requests uint64, start int64) result.Level {
	perSecond := 40_000 * float64(concurrency) / float64(concurrency+16)
	levelTime := int64(float64(requests) / perSecond * 1e9)
	lv := result.Level{
		Mode: plan.Concurrency, Concurrency: concurrency, Stable: true, Accepted: true, Histogram: &result.Histogram{Buckets: buckets(requests, 1)},
		Timeline: &result.Timeline{StartUnixNs: start, StepNs: levelTime/slices + 1},
		Health:   result.Health{AskedInFlight: float64(concurrency), AchievedInFlight: float64(concurrency), AchievedRate: perSecond, CPUCores: 0.4, MachineShare: 0.2, CPUPerRequestNs: 21e3},
	}
	c := &lv.Client
	c.Requests, c.DurationNs, c.InferPerSec = requests, levelTime, perSecond
	c.Latency = latency(lv.Histogram.Buckets, requests)
	for i := range mostTexts {
		lv.Failures = append(lv.Failures, result.Failure{Class: "server", Text: "the queue of instance " + string([]rune{rune('a' + i/8), rune('a' + i%8)}) + " is full", Count: uint64(i + 1)})
		c.Failed += uint64(i + 1)
	}
	for i := range slices {
		list := buckets(requests/slices, heat)
		part := latency(list, requests/slices)
		lv.Timeline.Slices = append(lv.Timeline.Slices, result.Slice{
			Sent: requests / slices, Ended: requests / slices, Failed: c.Failed / slices, FailedBy: map[string]uint64{"server": c.Failed / slices},
			InFlight: float64(concurrency), AvgNs: int64(part.Avg), P50Ns: int64(part.At(50)), P90Ns: int64(part.At(90)), P99Ns: int64(part.At(99)) + int64(i)*10_000, MaxNs: longest, Heat: list,
		})
	}
	for i := range 10 {
		w := result.Window{StartUnixNs: start + int64(i)*levelTime/10, EndUnixNs: start + int64(i+1)*levelTime/10}
		w.Client.Requests, w.Client.InferPerSec, w.Client.Latency = requests/10, c.InferPerSec, c.Latency
		lv.Windows = append(lv.Windows, w)
	}
	lv.Used = 3
	return lv
}

// buckets spreads requests over the buckets of stats.Octave, of which each so many are one: every bucket has at least one request.
func buckets(requests uint64, merged int) []result.Bucket {
	var list []result.Bucket
	var sum float64
	weight := func(ns int64) float64 { return math.Exp(-math.Pow(math.Log(float64(ns)/2e6), 2)) }
	first, last := stats.Octave(shortest)/merged*merged, stats.Octave(longest)
	for i := first; i <= last; i += merged {
		sum += weight(stats.OctaveEnd(i + merged - 1))
	}
	for i := first; i <= last; i += merged {
		end := stats.OctaveEnd(i + merged - 1)
		list = append(list, result.Bucket{UpToNs: end, Count: 1 + uint64(float64(requests)*weight(end)/sum)})
	}
	return list
}

// latency is the summary of a histogram.
func latency(list []result.Bucket, requests uint64) result.Metric {
	l := result.Metric{Unit: result.Nanoseconds, Count: requests, Min: shortest, Max: longest}
	var n, seen uint64
	var sum float64
	for _, b := range list {
		n += b.Count
		sum += float64(b.Count) * float64(b.UpToNs)
	}
	l.Avg = math.Trunc(sum / float64(n))
	ps := []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99}
	for _, b := range list {
		for seen += b.Count; len(ps) > 0 && float64(seen) >= ps[0]/100*float64(n); ps = ps[1:] {
			l.Quantiles = append(l.Quantiles, result.Quantile{P: ps[0], V: float64(b.UpToNs)})
		}
	}
	return l
}
