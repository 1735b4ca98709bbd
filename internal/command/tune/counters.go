package tune

import (
	"context"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// counter reads what the server counts of one model.
type counter struct {
	svc   service.Service
	stats service.StatsReader
	model string
}

// openCounters opens the counters of the traffic's models. A server that counts nothing has none.
func (c *candidate) openCounters(ctx context.Context) {
	for _, pl := range plans(c.traffic) {
		svc, err := open(pl)
		if err != nil {
			continue // a figure is missing then
		}
		stats, ok := svc.(service.StatsReader)
		if ok {
			_, err = svc.Describe(ctx)
		}
		if !ok || err != nil {
			_ = svc.Close() // nothing is in flight
			continue
		}
		c.counters = append(c.counters, counter{svc, stats, pl.Target.Model})
	}
}

func (c *candidate) closeCounters() {
	for i := range c.counters {
		_ = c.counters[i].svc.Close() // all that was asked has been answered
	}
}

// count reads all counters. The entry of a counter that cannot be read is empty.
func (c *candidate) count(ctx context.Context) [][]service.ModelStats {
	out := make([][]service.ModelStats, len(c.counters))
	for i := range c.counters {
		out[i], _ = c.counters[i].stats.Stats(ctx) // a figure is missing then
	}
	return out
}

// since are the mean times at the server since the counters were read. Those of an ensemble are the sums of its steps; those of
// several models are means over all requests.
func (c *candidate) since(ctx context.Context, before [][]service.ModelStats) *result.TuneServer {
	after := c.count(ctx)
	all, requests := &result.TuneServer{}, 0.0
	for i := range after {
		one, n := meanTimes(before[i], after[i], c.counters[i].model)
		requests += n
		all.QueueMs += n * one.QueueMs
		all.ComputeInputMs += n * one.ComputeInputMs
		all.ComputeInferMs += n * one.ComputeInferMs
		all.ComputeOutputMs += n * one.ComputeOutputMs
	}
	if requests == 0 {
		return nil
	}
	return &result.TuneServer{
		QueueMs: all.QueueMs / requests, ComputeInputMs: all.ComputeInputMs / requests,
		ComputeInferMs: all.ComputeInferMs / requests, ComputeOutputMs: all.ComputeOutputMs / requests,
	}
}

// meanTimes are the mean times of a request between two readings of the counters of a model and its steps, and how many requests ended.
func meanTimes(before, after []service.ModelStats, model string) (out result.TuneServer, requests float64) {
	if len(before) == 0 || len(after) != len(before) {
		return out, 0
	}
	mean := func(t service.Tally) float64 { return float64(t.Ns) / float64(max(1, t.Count)) / 1e6 }
	for i := range after {
		d := after[i].Sub(before[i])
		if d.Success.Count == 0 || len(after) > 1 && after[i].Name == model {
			continue
		}
		requests = max(requests, float64(d.Success.Count))
		out.QueueMs += mean(d.Queue)
		out.ComputeInputMs += mean(d.ComputeInput)
		out.ComputeInferMs += mean(d.ComputeInfer)
		out.ComputeOutputMs += mean(d.ComputeOutput)
	}
	return out, requests
}
