package measure

import (
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

const (
	// mostBatches limits the number of batches: long batches show slow changes within a run as differences between them.
	mostBatches = 8
	// fewestBatches is the smallest number of batches from which the variation can be estimated.
	fewestBatches = 4
	// batchLatencies is the shortest length of a batch, in average latencies: neighbors then share few requests.
	batchLatencies = 2
)

// Batches divides the time between two readings of clock.Now into parts of equal length, made of whole slices. It returns
// none if the time is too short for four.
func (t *Timeline) Batches(from, until int64) []result.Batch {
	first := max(0, (from-t.start+t.step-1)/t.step)
	last := min((until-t.start)/t.step, int64(len(t.slices)))
	if first >= last {
		return nil
	}
	whole := t.slices[first:last]
	var ended uint64
	var flightNs, longest int64
	for i := range whole {
		ended += whole[i].ended
		flightNs += whole[i].flightNs
		longest = max(longest, whole[i].max)
	}
	if ended == 0 {
		return nil
	}
	inFlight := max(1, float64(flightNs)/float64(int64(len(whole))*t.step))
	// By Little's law, requests ÷ in flight is the length of the time in latencies.
	k := min(mostBatches, len(whole), int(float64(ended)/inFlight/batchLatencies))
	if k < fewestBatches {
		return nil
	}
	// A request that takes longer than a batch slows several batches, which would then seem to agree.
	k = max(fewestBatches, min(k, int(int64(len(whole))*t.step/max(1, longest))))
	out := make([]result.Batch, k)
	for i := range out {
		out[i] = batch(whole[i*len(whole)/k:(i+1)*len(whole)/k], t.step)
	}
	return out
}

func batch(slices []slice, step int64) result.Batch {
	b := result.Batch{DurationNs: int64(len(slices)) * step}
	var all stats.Buckets[uint64]
	for i := range slices {
		s := &slices[i]
		b.Ended += s.ended
		b.SumNs += s.latencyNs
		stats.MergeBuckets(&all, &s.latency)
	}
	for j, n := range all.Octaves() {
		if n > 0 {
			b.Counts = append(b.Counts, uint64(j), n)
		}
	}
	return b
}
