package run

import (
	"fmt"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/scenario"
)

// makeRules reads the objectives of the scenario and of its classes, and refuses those that no run of them can meet or miss.
func (r *run) makeRules(fault func(scenario.Position, error)) {
	add := func(list []scenario.Text, class string, sample *gate.Sample) {
		for _, t := range list {
			rule, err := gate.Parse(t.Value)
			if err == nil {
				err = rule.Fits(sample)
			}
			if err != nil {
				fault(t.At, fmt.Errorf("objectives: %w", err))
				continue
			}
			rule.Class, rule.Objective = class, true
			r.rules = append(r.rules, rule)
		}
	}
	add(r.scenario.Objectives, scenario.Whole, r.wholeSample())
	for i := range r.scenario.Classes {
		c := &r.scenario.Classes[i]
		add(c.Objectives, c.Name, r.sampleOf(c))
	}
}

// sampleOf has the numbers of a class; where its options are wrong, all that a class can have.
func (r *run) sampleOf(c *scenario.Class) *gate.Sample {
	for _, m := range r.classes {
		if m.Class == c {
			return m.load.Sample()
		}
	}
	lv := measure.Sample(nil, true)
	if c.Command == nil || c.Command.Name == "llm" {
		lv.Metrics = metric.Sample(metric.Options{Goodput: make([]metric.Objective, 1)}, true)
	}
	return &gate.Sample{Level: lv}
}

// wholeSample has the numbers of all classes together.
func (r *run) wholeSample() *gate.Sample {
	lv := measure.Sample(nil, false)
	lv.Server = nil
	return &gate.Sample{Level: lv, Hint: func(rule *gate.Rule) string {
		for _, m := range r.classes {
			if _, ok := m.load.Sample().Level.Read(rule.Name); ok {
				return "only single classes have it; put the rule under the objectives of the class " + m.Name
			}
		}
		return ""
	}}
}

// checkAsserts refuses rules of --assert that a class cannot meet or miss: these rules are about every class.
func (r *run) checkAsserts() error {
	for _, m := range r.classes {
		s := m.load.Sample()
		if len(r.classes) > 1 {
			s.Values = nil // a level of one class is enough
		}
		if err := r.outcome.CheckRules(s); err != nil {
			return fmt.Errorf("class %s: %w; a rule about one class stands under its objectives", m.Name, err)
		}
	}
	return nil
}
