package tune

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/plan"
)

// modelOption is the option that names a model, as Traffic.Arguments has it.
const modelOption = "-m"

// share is one of several kinds of traffic that get a load together: a model, or a class of a scenario.
type share struct {
	name       string
	weight     float64
	args       []string    // all options
	objectives []gate.Rule // those of the class
}

// sessions are the searches of a command line: one, or one for each model of several -m without --weights. Nothing is sent yet.
func sessions(p *command.IO, sigs *command.Signals, o *options, what string, rest []string) ([]*session, error) {
	first := &session{IO: p, sigs: sigs, opts: o, what: what, rest: rest}
	if isScenario(what) {
		first.what, first.file = ofProfile, what
		return first.ofScenario()
	}
	base, err := first.traffic(nil)
	if err == nil {
		err = o.check(false)
	}
	if err != nil {
		return nil, err
	}
	first.args = base.Arguments()
	var models []string
	for _, arg := range first.args {
		if name, ok := strings.CutPrefix(arg, modelOption+"="); ok && what == ofProfile {
			if slices.Contains(models, name) {
				return nil, fmt.Errorf("-m %s is given twice", name)
			}
			models = append(models, name)
		}
	}
	switch {
	case len(o.weights) > 0 && len(models) < 2:
		return nil, errors.New("--weights is for several models: give -m for each")
	case len(o.weights) > 0 && len(o.weights) != len(models):
		return nil, fmt.Errorf("--weights has %d numbers and -m names %d models: give a weight for each", len(o.weights), len(models))
	case len(models) < 2:
		return []*session{first}, first.check(base)
	case len(o.weights) == 0:
		return inTurn(first, base, models)
	}
	for i, model := range models {
		args := slices.Concat(rest, []string{modelOption, model})
		if i > 0 { // models do not get their requests at the same moments
			args = append(args, "--seed", strconv.Itoa(i))
		}
		first.together = append(first.together, share{name: model, weight: o.weights[i], args: args})
	}
	if base, err = first.traffic(nil); err != nil {
		return nil, err
	}
	return []*session{first}, first.check(base)
}

// check reads the objectives and the values of --vary.
func (s *session) check(base search.Traffic) (err error) {
	s.base = base
	if s.tiers, err = s.opts.objectives(s.together); err == nil {
		err = find.CheckObjectives(s.tiers, s.base.Sample())
	}
	if err != nil {
		return err
	}
	return s.readKnobs()
}

// objectives are the texts of the rules.
func (s *session) objectives() []string {
	return convert.All(s.tiers[0].Objectives, func(r gate.Rule) string { return r.Text })
}

// traffic reads the options of the traffic, with further ones of a candidate behind them.
func (s *session) traffic(more []string) (search.Traffic, error) {
	if len(s.together) == 0 {
		return s.trafficOf(slices.Concat(s.rest, more))
	}
	m := &mix{}
	sum := 0.0
	for i := range s.together {
		sum += s.together[i].weight
	}
	for i := range s.together {
		one := &s.together[i]
		t, err := s.trafficOf(slices.Concat(one.args, more))
		if err != nil {
			return nil, err
		}
		m.members = append(m.members, member{Traffic: t, name: one.name, share: one.weight / sum})
	}
	m.Traffic = m.members[0].Traffic
	return m, nil
}

func (s *session) trafficOf(args []string) (search.Traffic, error) {
	p := *s.IO
	if s.base != nil || s.places > 0 || len(s.together) > 0 {
		p.Stderr = io.Discard // warnings about options were printed before
	}
	if s.what == ofLLM {
		return llm.NewProber(&p, args)
	}
	return profile.NewProber(&p, args, true)
}

// plans are those of the traffic: one for each model.
func plans(t search.Traffic) []*plan.Plan {
	m, ok := t.(*mix)
	if !ok {
		return []*plan.Plan{t.Plan()}
	}
	return convert.All(m.members, func(one member) *plan.Plan { return one.Plan() })
}

// models are the names of the models that are tuned.
func (s *session) models() []string {
	var names []string
	for _, pl := range plans(s.base) {
		if !slices.Contains(names, pl.Target.Model) {
			names = append(names, pl.Target.Model)
		}
	}
	return names
}

// errNotTogether: models that get the load together have one capacity, in requests/s.
var errNotTogether = errors.New("batch cannot be varied for several models together: their capacity is in requests/s")
