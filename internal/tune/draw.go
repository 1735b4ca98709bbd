package tune

import (
	"math/rand/v2"
	"slices"
)

// everything is the number of candidates up to which all are screened, if the budget allows.
const everything = 32

// draw chooses the candidates that are screened first: all of a small space, else a sample that has the values of each knob
// about equally often, in an order that the seed decides. The present candidate comes first.
func (s *Search) draw() []Point {
	rng := rand.New(rand.NewPCG(s.conf.Seed, 0x7ea5))
	n := size(s.conf.Knobs)
	limit := max(everything, 5*len(s.conf.Knobs))
	if s.conf.Budget > 0 {
		limit = min(limit, max(4, int(screenShare*float64(s.conf.Budget)/float64(s.conf.Expect[Screen]))))
	}
	var out []Point
	if n <= limit {
		out = grid(s.conf.Knobs)
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	} else {
		out = spread(s.conf.Knobs, max(4, min(limit, max(10, 4*len(s.conf.Knobs)))), rng)
	}
	if s.conf.Present != nil {
		out = slices.DeleteFunc(out, func(p Point) bool { return slices.Equal(p, s.conf.Present) })
		out = slices.Insert(out, 0, s.conf.Present)
	}
	return out
}

// grid is every point of the space.
func grid(knobs []Knob) []Point {
	out := []Point{{}}
	for _, k := range knobs {
		var longer []Point
		for _, p := range out {
			for i := range k.Values {
				longer = append(longer, append(slices.Clone(p), i))
			}
		}
		out = longer
	}
	return out
}

// spread is a Latin hypercube: the values of each knob occur about equally often.
func spread(knobs []Knob, n int, rng *rand.Rand) []Point {
	columns := make([][]int, len(knobs))
	for k := range knobs {
		values := len(knobs[k].Values)
		columns[k] = make([]int, n)
		for i := range n {
			columns[k][i] = (i*values + rng.IntN(values)) / n % values
		}
		rng.Shuffle(n, func(i, j int) { columns[k][i], columns[k][j] = columns[k][j], columns[k][i] })
	}
	var out []Point
	seen := map[string]bool{}
	for i := range n {
		p := make(Point, len(knobs))
		for k := range knobs {
			p[k] = columns[k][i]
		}
		if !seen[key(p)] {
			seen[key(p)] = true
			out = append(out, p)
		}
	}
	return out
}
