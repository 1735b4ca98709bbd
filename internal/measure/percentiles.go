package measure

import (
	"math"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Client computes the client's numbers for a window that lasted d.
func (w *Window) Client(d time.Duration) result.Client {
	c := result.Client{
		Requests: w.requests, Responses: w.responses, Sequences: w.sequences, Delayed: w.delayed, Failed: w.failed,
		Unanswered: w.unanswered, Resent: w.resent,
		DurationNs: int64(d),
	}
	w.rates(&c, d)
	c.Sent = w.summary(&w.sent, w.ages(func(p Pending) (int64, bool) { return p.Sent, true }))
	c.Due = c.Sent
	if w.setup.Open {
		c.Due = w.summary(&w.due, w.ages(func(p Pending) (int64, bool) { return p.Due, true }))
	}
	c.Latency = c.Due
	if w.setup.FromSend {
		c.Latency = c.Sent
	}
	c.Unfinished, c.OldestNs = w.inFlightAtEnd()
	if w.setup.Streaming {
		first := w.summary(&w.first, w.ages(func(p Pending) (int64, bool) { return w.setup.begin(p.Due, p.Sent), p.Waiting }))
		c.First = &first
	}
	if n := int64(w.requests); n > 0 {
		c.CallNs, c.SendNs, c.RecvNs = uint64(w.callNs/n), uint64(w.sendNs/n), uint64(w.recvNs/n)
		c.Bytes, c.RequestBytes, c.ResponseBytes = (w.in+w.out)/w.requests, w.out/w.requests, w.in/w.requests
	}
	return c
}

// rates are per second of d.
func (w *Window) rates(c *result.Client, d time.Duration) {
	c.InferPerSec = perSecond(w.requests*uint64(max(1, w.setup.Batch)), d)
	c.ResponsePerSec = perSecond(w.responses, d)
	c.SequencePerSec = perSecond(w.sequences, d)
}

// perSecond is n/d in 32-bit floats, the precision in which rates are printed and compared.
func perSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(float32(n) / (float32(d) / float32(time.Second)))
}

// percentiles are computed for every latency; the reports choose among them.
var percentiles = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99}

// summary computes the figures of a sample. ages are those of the requests in flight at the end, in ascending order.
func (w *Window) summary(s *stats.Sample[int64], ages []int64) result.Metric {
	ps := wanted(w.setup.Percentile)
	m := result.Metric{
		Unit: result.Nanoseconds, Count: s.Count(), Sum: float64(s.Sum()), Min: float64(s.Min()), Max: float64(s.Max()), Avg: float64(s.Mean()),
		Std: math.Floor(s.StdDev()), Approximate: !s.Exact(), Quantiles: make([]result.Quantile, len(ps)),
	}
	values := s.Quantiles
	if w.setup.NearestRank {
		values = s.NearestRanks
	}
	ended := s.Ranks()
	for i, v := range values(ps...) {
		m.Quantiles[i] = withUnfinished(int(s.Count()), ended, ages, result.Quantile{P: ps[i], V: float64(v)})
	}
	return m
}

// wanted returns percentiles with extra inserted in order.
func wanted(extra int) []float64 {
	if extra <= 0 {
		return percentiles
	}
	out := make([]float64, 0, len(percentiles)+1)
	placed := false
	for _, p := range percentiles {
		if !placed && float64(extra) <= p {
			placed = true
			if float64(extra) != p {
				out = append(out, float64(extra))
			}
		}
		out = append(out, p)
	}
	if !placed {
		out = append(out, float64(extra))
	}
	return out
}
