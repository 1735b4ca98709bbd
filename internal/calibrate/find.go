package calibrate

import "math"

// Found is the error that a report states.
type Found struct {
	Floor
	Exact bool // this very traffic was calibrated at this pace
	// Of names the calibrated traffic where it is another one.
	Of string
}

// Find finds the error of a traffic. It returns, in this order:
//
//   - the floor of the same traffic at the same pace;
//   - of the same traffic at a slower and at a faster pace, the larger error;
//   - the nearest traffic of the protocol.
func (t *Table) Find(q Traffic) (Found, bool) {
	if t == nil {
		return Found{}, false
	}
	var slower, faster, nearest *Floor
	closest := math.Inf(1)
	for i := range t.Floors {
		f := &t.Floors[i]
		if f.Same(q) {
			return Found{Floor: *f, Exact: true}, true
		}
		if f.sameButPace(q) {
			switch {
			case f.PerSecond < q.PerSecond && (slower == nil || f.PerSecond > slower.PerSecond):
				slower = f
			case f.PerSecond > q.PerSecond && (faster == nil || f.PerSecond < faster.PerSecond):
				faster = f
			}
		}
		if d := f.distance(q); d < closest {
			nearest, closest = f, d
		}
	}
	switch {
	case slower != nil && faster != nil:
		return between(*slower, *faster), true
	case nearest != nil:
		return Found{Floor: *nearest, Of: nearest.Traffic.String()}, true
	}
	return Found{}, false
}

// between states the larger of two errors, so that the error at a pace between the two is not understated.
func between(slower, faster Floor) Found {
	f := slower
	f.P50Ns, f.P99Ns = larger(slower.P50Ns, faster.P50Ns), larger(slower.P99Ns, faster.P99Ns)
	f.AtLeast = slower.AtLeast || faster.AtLeast
	if a, b := slower.Tokens, faster.Tokens; a != nil && b != nil {
		f.Tokens = &Tokens{TTFTNs: larger(a.TTFTNs, b.TTFTNs), ITLNs: larger(a.ITLNs, b.ITLNs)}
	}
	return Found{Floor: f, Of: "this traffic at " + slower.Pace() + " and at " + faster.Pace() + ", the larger error"}
}

// larger is the one that is farther from zero.
func larger(a, b int64) int64 {
	if max(a, -a) >= max(b, -b) {
		return a
	}
	return b
}
