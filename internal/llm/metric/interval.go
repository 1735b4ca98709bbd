package metric

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

const (
	// trailLimit is how many values of a quantity are kept in their order; then every second one goes.
	trailLimit = 1 << 14
	// resamples is how often the bootstrap draws.
	resamples = 300
	// minIntervals is how many values an interval needs to mean anything.
	minIntervals = 20
)

// intervalPercentiles are the percentiles that get intervals.
var intervalPercentiles = []float64{50, 90, 95, 99}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'g', -1, 64) }

// trail keeps values in the order of their ends. When it is full it keeps every second one from then on: its
// intervals are then those of a run with so many requests less, which are wider, never narrower.
type trail struct {
	values []float64
	every  int
	n      int
}

func (t *trail) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if t.every == 0 {
		t.every = 1
	}
	if t.n++; t.n%t.every != 0 {
		return
	}
	if len(t.values) == trailLimit {
		for i := range trailLimit / 2 {
			t.values[i] = t.values[2*i+1]
		}
		t.values = t.values[:trailLimit/2]
		t.every *= 2
		if t.n%t.every != 0 {
			return
		}
	}
	t.values = append(t.values, v)
}

// intervals are those of the mean and of intervalPercentiles, by a moving-block bootstrap: requests that follow each
// other share what the server was busy with, so whole stretches of n^(1/3) requests are drawn.
func (t *trail) intervals(level float64, seed uint64) []result.Interval {
	n := len(t.values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case t.values[a] < t.values[b]:
			return -1
		case t.values[a] > t.values[b]:
			return 1
		}
		return 0
	})
	rank := make([]int32, n)
	sorted := make([]float64, n)
	for r, i := range order {
		rank[i], sorted[r] = int32(r), t.values[i]
	}
	block := max(1, int(math.Ceil(math.Cbrt(float64(n)))))
	rng := rand.New(rand.NewPCG(seed, 0xb007))
	draws := make([][]float64, 1+len(intervalPercentiles))
	counts := make([]int32, n)
	for range resamples {
		clear(counts)
		sum := 0.0
		for drawn := 0; drawn < n; {
			at := rng.IntN(n - block + 1)
			for k := at; k < at+block && drawn < n; k++ {
				counts[rank[k]]++
				sum += t.values[k]
				drawn++
			}
		}
		draws[0] = append(draws[0], sum/float64(n))
		for i, v := range resampled(sorted, counts) {
			draws[i+1] = append(draws[i+1], v)
		}
	}
	return between(draws, level)
}

// resampled are the percentiles of a draw, which is given as how often each value was drawn.
func resampled(sorted []float64, counts []int32) []float64 {
	out := make([]float64, len(intervalPercentiles))
	n := len(sorted)
	i, upTo := -1, 0 // values up to rank upTo-1 are at or below sorted[i]
	at := func(k int) float64 {
		for upTo <= k {
			i++
			upTo += int(counts[i])
		}
		return sorted[i]
	}
	for j, p := range intervalPercentiles {
		x := p / 100 * float64(n-1)
		k := int(x)
		a := at(k)
		b := a
		if k < n-1 {
			b = at(k + 1)
		}
		out[j] = a + (b-a)*(x-float64(k))
	}
	return out
}

// piece is what came with one answer, or several: the time since the answer before, and counts.
type piece struct{ time, requests, in, out float64 }

func (p *piece) add(o piece) {
	p.time += o.time
	p.requests += o.requests
	p.in += o.in
	p.out += o.out
}

func value(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// flow keeps what came in the order of its ends. When it is full neighbors are joined, which loses nothing of their sums.
type flow struct {
	pieces []piece
	each   int // answers that make a piece
	last   int // answers in the piece at the end
}

func (f *flow) add(p piece) {
	if f.each == 0 {
		f.each = 1
	}
	if f.last > 0 && f.last < f.each {
		f.pieces[len(f.pieces)-1].add(p)
		f.last++
		return
	}
	if len(f.pieces) == trailLimit {
		for i := range trailLimit / 2 {
			f.pieces[i] = f.pieces[2*i]
			f.pieces[i].add(f.pieces[2*i+1])
		}
		f.pieces = f.pieces[:trailLimit/2]
		f.each *= 2
	}
	f.pieces = append(f.pieces, p)
	f.last = 1
}

// intervals are those of requests, input tokens, output tokens and all tokens a second, by the same bootstrap: the sums
// of what was drawn, divided by the sum of its times. Answers that were asked for at once come at once, so a stretch
// has room for all that are in flight, once or several times. There are none where the run is too short for that.
func (f *flow) intervals(level float64, seed uint64, flying int) []result.Interval {
	n := len(f.pieces)
	flying = max(1, (flying+f.each-1)/f.each)
	block := int(math.Ceil(math.Cbrt(float64(n))))
	block = (block + flying - 1) / flying * flying
	if n < 3*block {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0xf10e))
	draws := make([][]float64, 4)
	for range resamples {
		var sum piece
		for drawn := 0; drawn < n; {
			at := rng.IntN(n - block + 1)
			for k := at; k < at+block && drawn < n; k++ {
				sum.add(f.pieces[k])
				drawn++
			}
		}
		if sum.time <= 0 {
			continue
		}
		for i, v := range []float64{sum.requests, sum.in, sum.out, sum.in + sum.out} {
			draws[i] = append(draws[i], v/sum.time)
		}
	}
	if len(draws[0]) == 0 {
		return nil
	}
	return between(draws, level)
}

// between are the intervals that hold a share of some draws.
func between(draws [][]float64, level float64) []result.Interval {
	out := make([]result.Interval, len(draws))
	for i, s := range draws {
		slices.Sort(s)
		at := func(k int) float64 { return s[k] }
		tail := (1 - level) / 2 * 100
		out[i] = result.Interval{Low: stats.Interpolate(tail, len(s), at), High: stats.Interpolate(100-tail, len(s), at), Level: level}
	}
	return out
}

// Target is a width that an interval shall have: the metric and statistic, and the half width as a share.
type Target struct {
	ID    ID
	Stat  string // avg, p50, p90, p95, p99
	Share float64
}

// Reached tells how wide the interval is now, as a share of the value, and whether that is narrow enough.
func (c *Collector) Reached(t Target) (share float64, ok bool) {
	s := &c.series[t.ID]
	tr := c.trails[t.ID]
	if s.n < 2*minIntervals || tr == nil {
		return math.Inf(1), false
	}
	iv := tr.intervals(max(c.o.Level, 0.95), c.o.Seed)
	i, v := 0, s.sum/float64(s.n)
	if t.Stat != "avg" {
		for k, p := range intervalPercentiles {
			if percentileName(p) == t.Stat {
				i, v = k+1, s.quantiles([]float64{p})[0]
			}
		}
	}
	share = (iv[i].High - iv[i].Low) / 2 / math.Abs(v)
	return share, share <= t.Share
}

// Repeats computes, for each metric of several runs, the mean of the runs and the t interval of it.
func Repeats(runs [][]result.Metric, level float64) []result.Metric {
	if len(runs) == 0 {
		return nil
	}
	var out []result.Metric
	for _, m := range runs[0] {
		var avgs []float64
		by := map[string][]float64{}
		for _, r := range runs {
			if o, ok := Find(r, m.Tag); ok {
				avgs = append(avgs, o.Avg)
				if o.Dist != nil {
					for _, q := range o.Dist.Percentiles {
						by[percentileName(q.P)] = append(by[percentileName(q.P)], q.V)
					}
				}
			}
		}
		one := result.Metric{Tag: m.Tag, Name: m.Name, Unit: m.Unit, Higher: m.Higher}
		one.Avg, one.Interval = student(avgs, level)
		if m.Dist != nil {
			one.Dist = &result.Dist{Count: uint64(len(avgs)), Min: slices.Min(avgs), Max: slices.Max(avgs), Std: spread(avgs)}
			one.Intervals = map[string]result.Interval{}
			for _, p := range Percentiles {
				v, iv := student(by[percentileName(p)], level)
				one.Dist.Percentiles = append(one.Dist.Percentiles, result.Quantile{P: p, V: v})
				if iv != nil {
					one.Intervals[percentileName(p)] = *iv
				}
			}
		}
		out = append(out, one)
	}
	return out
}

// student is the mean of some values and its t interval; none for a single value.
func student(values []float64, level float64) (mean float64, iv *result.Interval) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if len(values) < 2 {
		return mean, nil
	}
	half := stats.TQuantile(level, n-1) * spread(values) / math.Sqrt(n)
	return mean, &result.Interval{Low: mean - half, High: mean + half, Level: level}
}

// spread is the standard deviation of a sample.
func spread(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	mean, sum := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / (n - 1))
}

func (t Target) String() string {
	return fmt.Sprintf("%s.%s ± %g %%", definitions[t.ID].Tag, t.Stat, t.Share*100)
}
