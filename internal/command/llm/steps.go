package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
)

// step is one level of a run: a load, and the prompts that it sends. Lists of --isl, --osl and --num-conversations give a step for
// each combination.
type step struct {
	load.Level
	input, output float64 // mean lengths
	sessions      int
}

// applyLists takes the first value of each list as the value of the prompts.
func (p *Plan) applyLists() {
	if len(p.Inputs) > 0 {
		p.Data.Input.Mean = p.Inputs[0]
	}
	if len(p.Lengths) > 0 {
		p.Data.Output.Mean = p.Lengths[0]
	}
	if len(p.SessionCounts) > 0 {
		p.Sessions = p.SessionCounts[0]
	}
	p.spreadLengths(&p.Data)
}

// spreadLengths applies --random-range-ratio.
func (p *Plan) spreadLengths(d *dataset.Options) {
	if p.Spread > 0 {
		d.Input.Around(p.Spread)
		d.Output.Around(p.Spread)
	}
}

// several reports whether levels differ in more than their load.
func (p *Plan) several() bool { return max(len(p.Inputs), len(p.Lengths), len(p.SessionCounts)) > 1 }

// checkLists names lists that have no meaning.
func (p *Plan) checkLists(f *plan.Faults) {
	f.When(len(p.Inputs) > 1 && p.Data.Path != "", "a list of --isl gives the lengths of generated prompts: it cannot be used with --input-file")
	f.When(len(p.Inputs)+len(p.Lengths) > 2 && p.Data.Pairs != "", "--sequence-distribution and lists of --isl or --osl exclude each other")
}

// steps are the levels, one after the other.
func (p *Plan) steps(timed bool) []step {
	var out []step
	for _, in := range atLeastOne(p.Inputs) {
		for _, length := range atLeastOne(p.Lengths) {
			for _, n := range atLeastOne(p.SessionCounts) {
				for _, lv := range p.levels(timed) {
					s := step{Level: lv, input: in, output: length, sessions: n}
					s.Prompts = p.promptsName(&s)
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// atLeastOne is a list, or one zero value in the place of an empty list.
func atLeastOne[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// promptsName names the prompts of a step by what differs between steps.
func (p *Plan) promptsName(s *step) string {
	var words []string
	if len(p.Inputs) > 1 {
		words = append(words, fmt.Sprintf("isl %g", s.input))
	}
	if len(p.Lengths) > 1 {
		words = append(words, fmt.Sprintf("osl %g", s.output))
	}
	if len(p.SessionCounts) > 1 {
		words = append(words, fmt.Sprintf("%d conversations", s.sessions))
	}
	return strings.Join(words, ", ")
}

// apply sets the prompts and the number of conversations of a step.
func (s *step) apply(p *Plan, d *dataset.Options, sessions *int) {
	if len(p.Inputs) > 1 {
		d.Input.Mean = s.input
	}
	if len(p.Lengths) > 1 {
		d.Output.Mean = s.output
	}
	if len(p.SessionCounts) > 1 {
		*sessions = s.sessions
	}
	p.spreadLengths(d)
}

// alone sets a plan to a step and forgets the others.
func (s *step) alone(p *Plan) {
	s.apply(p, &p.Data, &p.Sessions)
	p.Inputs, p.Lengths, p.SessionCounts = nil, nil, nil
}

// workloads are the steps that differ in their prompts, one of each.
func (p *Plan) workloads(timed bool) []step {
	return slices.CompactFunc(p.steps(timed), func(a, b step) bool { return a.Prompts == b.Prompts })
}
