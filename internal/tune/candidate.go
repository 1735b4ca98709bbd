package tune

import (
	"math"
	"time"
)

// Candidate is what is known of a candidate.
type Candidate struct {
	Point
	Stage Stage // the last one that was measured
	Measurement
	Took   time.Duration // in all stages
	Probes int           // in all stages

	earlier float64 // the highest capacity that held in an earlier stage
}

// Score is the best estimate of the capacity; 0 for a candidate that failed, or of which no load holds.
func (c *Candidate) Score() float64 {
	switch {
	case c.Failed != "":
		return 0
	case c.Value > 0:
		return c.Value
	case c.Low == 0 && math.IsInf(c.High, 1):
		return 0
	case c.Low == 0 && c.earlier > 0: // a longer probe failed where a shorter one held
		return min(c.earlier, c.High)
	case c.Low == 0 && c.Reached > 0:
		return min(c.High, c.Reached)
	case c.Low == 0:
		return c.High / 2
	case math.IsInf(c.High, 1):
		return c.Low
	}
	return math.Sqrt(c.Low * c.High)
}

// likely is the estimate of the capacity that chooses loads. Unlike Score it takes a server for a queue, which holds most of what it answers
// in an overload. A server that answers less than at a lower load is far above its capacity then.
func (c *Candidate) likely() float64 {
	if c.Low == 0 || c.Value > 0 || c.Failed != "" || c.Reached == 0 || math.IsInf(c.High, 1) {
		return c.Score()
	}
	return max(c.Low, min(c.High, queueShare*c.Reached))
}

// queueShare is the usual capacity of a server with a queue, as a share of what it answers in an overload.
const queueShare = 0.85

// overloaded tells whether the candidate answered clearly less at the load that failed, but not less than at the load that held: its
// highest throughput is then known.
func (c *Candidate) overloaded() bool {
	return c.Reached < farBehind*c.High && c.Reached > farBehind*c.Low
}

// top is the highest capacity that the candidate may have, by all estimates: an overloaded server takes no higher load than it answered,
// unless it answered less than at a load that held.
func (c *Candidate) top() float64 {
	if c.overloaded() {
		return max(c.Reached, c.Low)
	}
	return c.High
}

// held is the highest capacity that was seen to hold.
func (c *Candidate) held() float64 {
	switch {
	case c.Failed != "":
		return 0
	case c.Value > 0:
		return c.Value
	}
	return c.Low
}

// unknown tells whether the measurement ended before any load was seen to hold or to fail.
func (c *Candidate) unknown() bool { return c.Failed == "" && c.held() == 0 && math.IsInf(c.High, 1) }

// farBehind is the share of a capacity below which a throughput is clearly lower.
const farBehind = 0.95

// farBelow tells whether the candidate, when it was overloaded, answered clearly less than a capacity: then it cannot have that capacity. Some
// servers answer less in an overload than at a lower load. Unless the candidate answered more in the overload than at a load that
// held, it must have answered the less, the more the load exceeded the capacity.
func (c *Candidate) farBelow(capacity float64) bool {
	if c.Reached == 0 || c.Low >= capacity {
		return false
	}
	limit := farBehind * capacity
	if c.Low == 0 || c.Reached < c.Low {
		limit *= min(1, capacity/c.High)
	}
	return c.Reached < limit
}
