package prom

import (
	"math"
	"strconv"

	dto "github.com/prometheus/client_model/go"

	"github.com/redline-bench/redline/internal/telemetry"
)

// A classic histogram has perDoubling buckets in each doubling, each 19 % wide, from 2^-17 s (8 µs) to 2^9 s (512 s). They do not depend on
// the values: a bucket that appeared in the middle of a run would have no rate.
const (
	perDoubling = 4
	lowest      = -17 * perDoubling
	highest     = 9 * perDoubling
	finer       = 1 << telemetry.Scale / perDoubling // native buckets in a classic one
)

// bucket counts the values up to le, as Prometheus writes it.
type bucket struct {
	le    string
	count uint64
}

// classic makes the buckets of a classic histogram of a native one; the last has all values.
func classic(h *dto.Histogram) []bucket {
	counts := map[int]uint64{} // by the number of the classic bucket
	at, count, k := 0, int64(0), 0
	for _, span := range h.PositiveSpan {
		at += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[k]
			k++
			counts[max(int(math.Ceil(float64(at)/finer)), lowest)] += uint64(count)
			at++
		}
	}
	out := make([]bucket, 0, highest-lowest+2)
	total := h.GetZeroCount()
	for i := lowest; i <= highest; i++ {
		total += counts[i]
		out = append(out, bucket{strconv.FormatFloat(math.Exp2(float64(i)/perDoubling), 'g', -1, 64), total})
	}
	return append(out, bucket{"+Inf", h.GetSampleCount()})
}
