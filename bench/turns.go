package main

import (
	"slices"

	"github.com/redline-bench/redline/internal/stats"
)

// Two tools are compared in turns: at least leastTurns, and up to mostTurns while the interval of their ratio contains the bar. Other work on
// the machine changes the cost of single runs by more than some bars allow.
const (
	leastTurns = 6 // fewer have no interval
	mostTurns  = 24
)

// ratio is one figure as a multiple of another: the median over the turns, with its interval of 95 %.
type ratio struct {
	middle   float64
	interval stats.Bounds
	known    bool // there were enough turns for the interval
}

// ratioOf compares the figures of turns. A turn that lacks one of the two does not count.
func ratioOf(ours, theirs []float64) (r ratio) {
	all := make([]float64, min(len(ours), len(theirs)))
	for i := range all {
		all[i] = ours[i] / theirs[i]
	}
	if len(all) == 0 {
		return r
	}
	r.middle = median(slices.Clone(all))
	slices.Sort(all)
	r.interval, r.known = stats.QuantileBounds(50, len(all), func(k int) float64 { return all[k] }, stats.NoDependence(), 0.95)
	return r
}

// decided tells whether the whole interval is on one side of the bar.
func (r ratio) decided(b bar) bool {
	return r.known && (r.interval.High <= b.limit || r.interval.Low >= b.limit)
}

// turns measures ours and a peer's figure in turns until their ratio is decided.
func turns(b bar, measure func() (ours, theirs float64, err error)) (ours, theirs []float64, err error) {
	for n := 0; n < leastTurns || n < mostTurns && !ratioOf(ours, theirs).decided(b); n++ {
		a, p, err := measure()
		if err != nil {
			return nil, nil, err
		}
		ours, theirs = append(ours, a), append(theirs, p)
	}
	return ours, theirs, nil
}

// compare sets figure and verdict of a row: the median of ours, and whether its ratio to theirs reaches the bar. A ratio that does not, while
// its interval contains the bar, is inconclusive.
func (x *row) compare(b bar, ours, theirs []float64) {
	r := ratioOf(ours, theirs)
	x.judge(b, r.middle)
	x.Figure = median(slices.Clone(ours))
	if r.known {
		x.Low, x.High = r.interval.Low, r.interval.High
	}
	if x.Verdict == missed && r.known && !r.decided(b) {
		x.Verdict = inconclusive
	}
}
