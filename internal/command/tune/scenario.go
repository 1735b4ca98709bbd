package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/scenario"
)

// isScenario tells whether the first argument names a scenario file.
func isScenario(arg string) bool {
	ext := filepath.Ext(arg)
	return !strings.HasPrefix(arg, "-") && (ext == ".yaml" || ext == ".yml")
}

// faultsError are the faults of a scenario file, each with its line and column.
type faultsError struct{ list []scenario.Fault }

func (e faultsError) Error() string {
	return strings.Join(convert.All(e.list, scenario.Fault.String), "\n")
}

// ofScenario is the search with the classes of a scenario file, which get the load together.
func (s *session) ofScenario() ([]*session, error) {
	if slices.Contains(s.rest, "--help") || slices.Contains(s.rest, "-h") {
		return nil, option.ErrHelp
	}
	content, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	outcome := plan.DefaultOutcome()
	grammar := &scenario.Grammar{Searched: true, Run: outcome.Rows(), Commands: []scenario.Command{
		{Name: ofProfile, Rows: profile.Command().Rows, Seed: "seed", Arrivals: "request-distribution", Outside: profile.Outside()},
	}}
	file, faults := scenario.Read(s.file, content, grammar, s.Getenv, s.Secrets.Add)
	if len(faults) > 0 {
		return nil, faultsError{faults}
	}
	whole := append(scenario.Arguments(file.Options), s.rest...)
	rules := false
	for i := range file.Classes {
		c := &file.Classes[i]
		own := c.Arguments()
		one := share{name: c.Name, weight: c.Weight(), args: slices.Concat(own, whole)}
		for _, text := range c.Objectives {
			r, err := gate.Parse(text.Value)
			if err != nil {
				faults = append(faults, scenario.Fault{Path: s.file, At: text.At, Text: err.Error()})
			}
			one.objectives = append(one.objectives, r)
			rules = true
		}
		t, err := s.trafficOf(one.args)
		if err != nil {
			faults = append(faults, scenario.Fault{Path: s.file, At: c.Locate(err), Text: err.Error()})
		} else if s.args == nil {
			s.args = t.Arguments()[len(own):]
		}
		s.together = append(s.together, one)
	}
	if len(faults) > 0 {
		return nil, faultsError{faults}
	}
	switch {
	case len(file.Objectives) > 0:
		return nil, fmt.Errorf("remove the objectives for all classes together from %s: give them to each class, or use --slo for every class", s.file)
	case len(s.opts.weights) > 0:
		return nil, errors.New("remove --weights: the classes of the scenario have weights")
	}
	if err := s.opts.check(rules); err != nil {
		return nil, err
	}
	base, err := s.traffic(nil)
	if err != nil {
		return nil, err
	}
	list := plans(base)
	for _, pl := range list[1:] {
		if pl.Target.URL != list[0].Target.URL || pl.Target.Protocol != list[0].Target.Protocol || pl.Target.Kind != list[0].Target.Kind {
			return nil, errors.New("the classes of the scenario must be at one address: redline tune changes the models of one server")
		}
	}
	return []*session{s}, s.check(base)
}
