package tune

// Effect is how much one knob mattered.
type Effect struct {
	Name string
	// Best is the highest estimate of a capacity among the candidates with each value; 0 where none was measured.
	Best []float64
	// Ratio is the highest of these divided by the lowest one that was measured and is above 0: how much the best candidate
	// loses with the worst value of this knob, as far as was measured. It is 1 where the knob does not matter.
	Ratio float64
}

// Effects are those of the knobs, in their order.
func (s *Search) Effects() []Effect {
	out := make([]Effect, len(s.conf.Knobs))
	for k, knob := range s.conf.Knobs {
		e := Effect{Name: knob.Name, Best: make([]float64, len(knob.Values)), Ratio: 1}
		for _, c := range s.measured {
			if i := c.Point[k]; i != NotListed {
				e.Best[i] = max(e.Best[i], c.Score())
			}
		}
		lowest, highest := 0.0, 0.0
		for _, v := range e.Best {
			highest = max(highest, v)
			if v > 0 && (lowest == 0 || v < lowest) {
				lowest = v
			}
		}
		if lowest > 0 {
			e.Ratio = highest / lowest
		}
		out[k] = e
	}
	return out
}

// Figure is a candidate as the Pareto front sees it: a capacity, of which more is better, and a latency, of which less is.
type Figure struct{ Capacity, Latency float64 }

// Front tells of each candidate whether no other one has a higher capacity and a lower latency. A candidate without a capacity
// is never in the front.
func Front(list []Figure) []bool {
	out := make([]bool, len(list))
	for i, a := range list {
		out[i] = a.Capacity > 0
		for _, b := range list {
			if b.Capacity >= a.Capacity && b.Latency <= a.Latency && (b.Capacity > a.Capacity || b.Latency < a.Latency) {
				out[i] = false
			}
		}
	}
	return out
}
