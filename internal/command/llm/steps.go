package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/llm/load"
)

// step is one level of a run: a load, and the prompts that it sends. Lists of --isl, --osl and --num-conversations give a step for
// each combination.
type step struct {
	load.Level
	input, output float64 // mean lengths
	sessions      int
}

// settleLists takes the first value of each list as the option's value. A list of one value is no list.
func (o *options) settleLists() {
	if len(o.inputs) > 0 {
		o.data.Input.Mean = o.inputs[0]
	}
	if len(o.lengths) > 0 {
		o.data.Output.Mean = o.lengths[0]
	}
	if len(o.sessionCounts) > 0 {
		o.sessions = o.sessionCounts[0]
	}
	o.spreadLengths()
}

// spreadLengths applies --random-range-ratio.
func (o *options) spreadLengths() {
	if o.spread > 0 {
		o.data.Input.Around(o.spread)
		o.data.Output.Around(o.spread)
	}
}

// several reports whether levels differ in more than their load.
func (o *options) several() bool { return max(len(o.inputs), len(o.lengths), len(o.sessionCounts)) > 1 }

// checkLists names a list that has no meaning.
func (o *options) checkLists() error {
	switch {
	case len(o.inputs) > 1 && o.data.Path != "":
		return errors.New("a list of --isl gives the lengths of generated prompts: it cannot be used with --input-file")
	case len(o.inputs)+len(o.lengths) > 2 && o.data.Pairs != "":
		return errors.New("--sequence-distribution and lists of --isl or --osl exclude each other")
	}
	return nil
}

// steps are the levels, one after the other.
func (o *options) steps(timed bool) []step {
	if !o.several() {
		var out []step
		for _, lv := range o.levels(timed) {
			out = append(out, step{Level: lv})
		}
		return out
	}
	var out []step
	for _, in := range atLeastOne(o.inputs) {
		for _, length := range atLeastOne(o.lengths) {
			for _, n := range atLeastOne(o.sessionCounts) {
				for _, lv := range o.levels(timed) {
					s := step{Level: lv, input: in, output: length, sessions: n}
					s.Prompts = o.promptsName(&s)
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
func (o *options) promptsName(s *step) string {
	var words []string
	if len(o.inputs) > 1 {
		words = append(words, fmt.Sprintf("isl %g", s.input))
	}
	if len(o.lengths) > 1 {
		words = append(words, fmt.Sprintf("osl %g", s.output))
	}
	if len(o.sessionCounts) > 1 {
		words = append(words, fmt.Sprintf("%d conversations", s.sessions))
	}
	return strings.Join(words, ", ")
}

// apply sets the options to a step.
func (s *step) apply(o *options) {
	if len(o.inputs) > 1 {
		o.data.Input.Mean = s.input
	}
	if len(o.lengths) > 1 {
		o.data.Output.Mean = s.output
	}
	if len(o.sessionCounts) > 1 {
		o.sessions = s.sessions
	}
	o.spreadLengths()
}

// alone sets the options to a step and forgets the others.
func (s *step) alone(o *options) {
	s.apply(o)
	o.inputs, o.lengths, o.sessionCounts = nil, nil, nil
}

// workloads are the steps that differ in their prompts, one of each.
func (o *options) workloads(timed bool) []step {
	return slices.CompactFunc(o.steps(timed), func(a, b step) bool { return a.Prompts == b.Prompts })
}
