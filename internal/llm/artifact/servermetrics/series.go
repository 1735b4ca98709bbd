package servermetrics

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/stats"
)

// keep limits the values of a gauge that are kept. Each time there are more, every second value is dropped.
const keep = 4096

// family is one metric.
type family struct {
	kind   kind
	help   string
	series map[string]*series
}

// series is one metric under one set of labels.
type series struct {
	labels []scrape.Label
	seen   bool // in the measured phase

	// A gauge.
	values []float64
	stride int // one of so many is kept
	skip   int

	// A counter, or a histogram: at the start of the phase, and now.
	ref, now state
	had      bool  // ref is set
	page     state // of the current page
}

// state is a counter, or a histogram with its buckets.
type state struct {
	at      int64
	value   float64 // of a histogram, its sum
	count   float64
	buckets map[string]float64
}

func (f *family) add(s *scrape.Sample, part string, at int64, measured bool) {
	if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		return
	}
	key, labels := labelKey(s.Labels)
	x := f.series[key]
	if x == nil {
		x = &series{labels: labels, stride: 1}
		f.series[key] = x
	}
	x.page.at = at
	switch part {
	case "_bucket":
		if x.page.buckets == nil {
			x.page.buckets = map[string]float64{}
		}
		x.page.buckets[s.Label("le")] = s.Value
	case "_count":
		x.page.count = s.Value
	default:
		x.page.value = s.Value
	}
	if measured && (f.kind == gauge || f.kind == unknown) {
		x.keep(s.Value)
	}
}

// end adds the values of the current page.
func (f *family) end(at int64, measured bool) {
	for _, x := range f.series {
		if x.page.at != at {
			continue
		}
		x.now = x.page
		x.page.buckets = nil
		if !x.had {
			x.ref, x.had = x.now, true
		}
		x.seen = x.seen || measured
	}
}

// begin makes the current state the reference.
func (x *series) begin() {
	x.ref, x.seen = x.now, false
	x.values, x.stride, x.skip = x.values[:0], 1, 0
}

func (x *series) keep(v float64) {
	if x.skip++; x.skip < x.stride {
		return
	}
	x.skip = 0
	if len(x.values) == keep {
		for i := range keep / 2 {
			x.values[i] = x.values[2*i+1]
		}
		x.values = x.values[:keep/2]
		x.stride *= 2
	}
	x.values = append(x.values, v)
}

// The percentiles of AIPerf's files.
var ranks = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99}

// number is a named value, so that files keep their order.
type number struct {
	name  string
	value float64
	whole bool
}

// statistics are the numbers of a series, in the order of AIPerf's columns.
func (x *series) statistics(k kind) []number {
	switch k {
	case counter:
		total := max(0, x.now.value-x.ref.value)
		return []number{{name: "total", value: total}, {name: "rate", value: perSecond(total, x.now.at-x.ref.at)}}
	case histogram:
		return x.histogram()
	case gauge, unknown:
	}
	var v stats.Sample[float64]
	for _, y := range x.values {
		v.Add(y)
	}
	if v.Count() == 0 {
		return nil
	}
	out := []number{{name: "avg", value: v.Mean()}, {name: "min", value: v.Min()}, {name: "max", value: v.Max()}, {name: "std", value: v.StdDev()}}
	for i, value := range v.Quantiles(ranks...) {
		out = append(out, number{name: "p" + strconv.Itoa(int(ranks[i])), value: value})
	}
	return out
}

func perSecond(v float64, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	return v / (float64(ns) / 1e9)
}

func (x *series) histogram() []number {
	count, sum := max(0, x.now.count-x.ref.count), max(0, x.now.value-x.ref.value)
	if count == 0 {
		return []number{{name: "count", whole: true}}
	}
	d := x.now.at - x.ref.at
	out := []number{
		{name: "count", value: count, whole: true},
		{name: "count_rate", value: perSecond(count, d)},
		{name: "sum", value: sum},
		{name: "sum_rate", value: perSecond(sum, d)},
		{name: "avg", value: sum / count},
	}
	list := x.buckets()
	for _, p := range ranks {
		if v, ok := quantile(list, p/100); ok {
			out = append(out, number{name: "p" + strconv.Itoa(int(p)) + "_estimate", value: v})
		}
	}
	return out
}

// bucket is one of a histogram: how many values of the phase are at most so large.
type bucket struct {
	le    string
	bound float64
	count float64
}

// buckets are the differences over the phase, smallest bound first; none if the server's counters were reset.
func (x *series) buckets() []bucket {
	var list []bucket
	for le, n := range x.now.buckets {
		bound, err := strconv.ParseFloat(le, 64)
		d := n - x.ref.buckets[le]
		if err != nil || d < 0 {
			return nil
		}
		list = append(list, bucket{le, bound, d})
	}
	slices.SortFunc(list, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	return list
}

// quantile interpolates linearly within the bucket, as Prometheus does. Beyond the last bound it is that bound.
func quantile(list []bucket, q float64) (float64, bool) {
	if len(list) == 0 || list[len(list)-1].count == 0 {
		return 0, false
	}
	rank := q * list[len(list)-1].count
	low, before := 0.0, 0.0
	for _, b := range list {
		switch {
		case b.count < rank:
			low, before = b.bound, b.count
			continue
		case math.IsInf(b.bound, 1):
			return low, true
		case b.count == before:
			return b.bound, true
		}
		if b.bound <= 0 {
			return b.bound, true
		}
		return low + (b.bound-low)*(rank-before)/(b.count-before), true
	}
	return low, true
}

// fingerprint identifies a page.
func fingerprint(p *scrape.Page) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for i := range p.Samples {
		_, _ = h.Write([]byte(p.Samples[i].Name)) // never fails, as below
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(p.Samples[i].Value))
		_, _ = h.Write(b[:])
	}
	return h.Sum64()
}
