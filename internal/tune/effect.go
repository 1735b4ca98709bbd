package tune

// Effect is how much one knob mattered.
type Effect struct {
	Name string
	// Best is the highest estimate of a capacity among the candidates with each value; 0 where none was measured.
	Best []float64
	// Ratio is the capacity of the best candidate divided by the lowest capacity among the candidates that differ from it in
	// this knob alone. It is 0 where no such candidate was measured.
	Ratio float64
}

// Effects are those of the knobs, in their order.
func (s *Search) Effects() []Effect {
	best := s.Best()
	out := make([]Effect, len(s.conf.Knobs))
	for k, knob := range s.conf.Knobs {
		e := Effect{Name: knob.Name, Best: make([]float64, len(knob.Values))}
		for _, c := range s.measured {
			if i := c.Point[k]; i != NotListed {
				e.Best[i] = max(e.Best[i], c.Score())
			}
			if best != nil && differsIn(k, best.Point, c.Point) && c.Score() > 0 {
				e.Ratio = max(e.Ratio, best.Score()/c.Score())
			}
		}
		out[k] = e
	}
	return out
}

// differsIn tells whether two points differ in one knob alone.
func differsIn(knob int, a, b Point) bool {
	for k := range a {
		if (a[k] != b[k]) != (k == knob) {
			return false
		}
	}
	return true
}

// Figure is a candidate as the Pareto front sees it: a capacity, of which more is better, and a latency, of which less is.
type Figure struct{ Capacity, Latency float64 }

// Front tells of each candidate whether no other one has a higher capacity and a lower latency. A candidate without a capacity, or whose
// latency is not known (0), is never in the front, and keeps no other one out of it.
func Front(list []Figure) []bool {
	out := make([]bool, len(list))
	for i, a := range list {
		out[i] = a.Capacity > 0 && a.Latency > 0
		for _, b := range list {
			if b.Latency > 0 && b.Capacity >= a.Capacity && b.Latency <= a.Latency && (b.Capacity > a.Capacity || b.Latency < a.Latency) {
				out[i] = false
			}
		}
	}
	return out
}
