package stress

import (
	"time"
)

// Pass is one iteration of a thread: a pattern on a context.
type Pass struct {
	Thread    int
	Iteration int
	Context   int
	Pattern   Pattern
	Lengths   []int
	Steps     []Step
}

// Step is one request.
type Step struct {
	Start bool  `json:"start"`
	End   bool  `json:"end"`
	Value int64 `json:"value"`
	// Part counts the sequences of a pass, Position the requests of a sequence, from 0.
	Part     int `json:"part"`
	Position int `json:"position"`
	// Refused: the server must respond that START is missing.
	Refused bool `json:"must_be_refused,omitempty"`
	// Wait is the pause before this request.
	Wait time.Duration `json:"wait_ns,omitempty"`
}

// generator draws the passes of one thread.
type generator struct {
	plan   *Plan
	rng    *twister
	thread int
	next   int       // iteration
	rare   int       // the next rare context
	last   []Pattern // of each context
	used   []bool
}

// Seeds are the seeds of the threads.
func Seeds(p *Plan) []uint32 {
	rng := newTwister(p.Seed)
	seeds := make([]uint32, p.Threads)
	for i := range seeds {
		seeds[i] = rng.uint32()
	}
	return seeds
}

func newGenerator(p *Plan, thread int, seed uint32) *generator {
	return &generator{plan: p, rng: newTwister(seed), thread: thread, last: make([]Pattern, p.Contexts()), used: make([]bool, p.Contexts())}
}

// pass draws the next iteration. The order of the draws is that of sequence_stress.py, so that seeds mean the same.
func (g *generator) pass() *Pass {
	p := &Pass{Thread: g.thread, Iteration: g.next}
	g.next++
	if g.rng.float() < g.plan.RareShare && g.plan.Rare > 0 || g.plan.Common == 0 {
		draw := g.rng.float()
		p.Context = g.plan.Common + g.rare
		p.Pattern = g.plan.RareWeights.choose(draw, g.allowed(p.Context))
		g.rare = (g.rare + 1) % g.plan.Rare
	} else {
		p.Context = min(int(g.rng.float()*float64(g.plan.Common)), g.plan.Common-1)
		draw := g.rng.float()
		p.Pattern = g.plan.Weights.choose(draw, g.allowed(p.Context))
	}
	g.last[p.Context], g.used[p.Context] = p.Pattern, true
	g.fill(p)
	return p
}

// allowed forbids a missing START if the server may still hold a sequence, because the server would take the request for the next
// one of that sequence.
func (g *generator) allowed(context int) func(Pattern) bool {
	return func(p Pattern) bool { return p != NoStart || !g.used[context] || !g.last[context].leavesOpen() }
}

// fill draws lengths and values, and makes the requests.
func (g *generator) fill(p *Pass) {
	parts := 1
	switch p.Pattern {
	case NoStart:
		p.Lengths = []int{1}
		p.Steps = []Step{{Value: g.value(), Refused: true}}
		return
	case ValidValid, ValidNoEnd:
		parts = 2
	default: // the others are one sequence
	}
	for range parts {
		p.Lengths = append(p.Lengths, max(1, int(g.rng.normal(g.plan.LengthMean, g.plan.LengthDev))))
	}
	for part, n := range p.Lengths {
		ends := p.Pattern != Idle && (!p.Pattern.leavesOpen() || part < parts-1)
		for i := range n {
			p.Steps = append(p.Steps, Step{
				Start: i == 0, End: ends && i == n-1, Value: g.value(), Part: part, Position: i,
			})
		}
	}
	if p.Pattern == Idle {
		p.Steps = append(p.Steps, Step{Value: g.value(), Position: p.Lengths[0], Refused: true, Wait: g.plan.IdleTime})
	}
}

func (g *generator) value() int64 { return int64(g.rng.below(uint32(g.plan.Values))) }
