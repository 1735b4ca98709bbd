package find

import (
	"math"

	"github.com/redline-bench/redline/internal/gate"
)

const (
	// nearSteps is how far from a load, in steps of the resolution, a probe counts for it.
	nearSteps = 1.5
	// slopeRange is the ratio of limit and value, or of value and limit, up to which a probe counts for the slope.
	slopeRange = 2.5
	// halfLife is after how many of the longest probes the weight of a probe is half.
	halfLife = 4.0
	// leastSlope is how many standard errors a slope must differ from 0 to be used.
	leastSlope = 2
)

// point is what one probe shows about one objective. Headroom is 1 at the limit of the objective and higher where the objective
// holds. In a queue, headroom falls with the load along a straight line, because the latency is in proportion to 1/(1-load).
type point struct {
	load      float64
	headroom  float64
	deviation float64 // standard error of headroom; 0 where it is not known
	seconds   float64 // measured
	weight    float64
}

// points are what steady probes show about an objective. A probe whose latencies were correlated for too long to have an interval gets the
// standard error that the others have on average for its time: to leave such probes out would favor low latencies.
func (s *Search) points(objective int) []point {
	var out []point
	var variance, known float64 // of one second
	for _, p := range s.probes {
		r, ok := p.reading(objective)
		if !ok || !p.steady() || p.measured <= 0 {
			continue
		}
		headroom, deviation := r.headroom(&s.objectives[objective])
		at := point{p.Load, headroom, deviation, p.measured.Seconds(), s.weight(p)}
		if out = append(out, at); at.useful() {
			variance += at.deviation * at.deviation * at.seconds
			known++
		}
	}
	for i := range out {
		if p := &out[i]; p.deviation == 0 && p.headroom > 0 && known > 0 {
			p.deviation = math.Sqrt(variance / known / p.seconds)
		}
	}
	return out
}

// weight is that of a probe: its measured time, which unlike its interval does not depend on what it measured. It halves with each halfLife
// that has passed since, because a server may drift.
func (s *Search) weight(p *Probe) float64 {
	age := s.probes[len(s.probes)-1].began - p.began
	return p.measured.Seconds() * math.Exp2(-age.Seconds()/(halfLife*s.conf.MaxTime.Seconds()))
}

// useful tells whether the point counts for the slope.
func (p *point) useful() bool {
	return p.deviation > 0 && p.headroom < slopeRange && p.headroom > 1/slopeRange
}

// headroom is the limit divided by the value, with its standard error. For a share that must be high, such as goodput, it is the share
// that may be missing divided by the share that is. Both are 0 where headroom is not known, and the standard error is 0 where the reading has
// no interval. Far from the limit an interval may be as wide as its value, and only the end of it that is near the limit counts.
func (r *Reading) headroom(rule *gate.Rule) (headroom, deviation float64) {
	limit, value := rule.Limit(), r.Value
	if rule.Op[0] == '>' {
		if r.Unit != "%" {
			return 0, 0
		}
		limit, value = 100-limit, 100-value
	}
	if limit <= 0 || value <= 0 {
		return 0, 0
	}
	headroom = limit / value
	deviation = r.deviation(rule) / value // relative
	if headroom > slopeRange {
		deviation /= 1 + confirmDeviations*deviation
	}
	return headroom, headroom * deviation
}

// around is how far every objective of a tier keeps from its limit at a load, in standard errors, by all probes around the load; see
// Judgment.margin. complete tells whether every objective has an interval. The load itself need not have been probed.
func (s *Search) around(load float64, tier int) (margin float64, complete bool) {
	margin, complete = math.Inf(1), true
	for _, i := range s.tiers[tier] {
		m, ok := s.headroomAt(load, s.points(i))
		if !ok {
			e := pool(s.nearest(load), i, &s.objectives[i])
			m, ok = e.margin, e.deviation > 0
		}
		margin, complete = min(margin, m), complete && ok
	}
	return margin, complete
}

// headroomAt is by how many standard errors the headroom at a load differs from 1. Points near the load are moved to it along the slope.
// Where the slope is not known, points at lower loads are left out, and those at higher loads count as they are: the objective
// holds at the load if it holds above. It is not ok where a point near the load has no standard error, or there is none.
func (s *Search) headroomAt(load float64, points []point) (margin float64, ok bool) {
	slope, slopeDeviation := slopeOf(points)
	var weights, sum, moved, variance float64
	for _, p := range points {
		if math.Abs(p.load-load) > nearSteps*s.conf.Resolution*load || slope == 0 && p.load < load {
			continue
		}
		if p.deviation == 0 {
			return 0, false
		}
		weights += p.weight
		sum += p.weight * (p.headroom + slope*(load-p.load))
		moved += p.weight * (load - p.load)
		variance += p.weight * p.weight * p.deviation * p.deviation
	}
	if weights == 0 {
		return 0, false
	}
	variance += moved * moved * slopeDeviation * slopeDeviation
	return (sum - weights) / math.Sqrt(variance), true
}

// slopeOf is the change of headroom for a change of the load, with its standard error; 0 where points are too few or too uncertain.
func slopeOf(points []point) (slope, deviation float64) {
	var weights, load, headroom float64
	var use []point
	for _, p := range points {
		if p.useful() {
			use = append(use, p)
			weights += p.weight
			load += p.weight * p.load
			headroom += p.weight * p.headroom
		}
	}
	load, headroom = load/weights, headroom/weights
	var squares, products, variance float64
	for _, p := range use {
		d := p.weight * (p.load - load)
		squares += d * (p.load - load)
		products += d * (p.headroom - headroom)
		variance += d * d * p.deviation * p.deviation
	}
	slope, deviation = products/squares, math.Sqrt(variance)/squares
	if len(use) < 2 || squares <= 0 || slope > -leastSlope*deviation {
		return 0, 0
	}
	return slope, deviation
}

// nearest are the steady probes at a load, or where there are none those near to it.
func (s *Search) nearest(load float64) []*Probe {
	var at, near []*Probe
	for _, p := range s.probes {
		switch {
		case !p.steady():
		case p.Load == load:
			at = append(at, p)
		case math.Abs(p.Load-load) <= nearSteps*s.conf.Resolution*load:
			near = append(near, p)
		}
	}
	if at != nil {
		return at
	}
	return near
}
