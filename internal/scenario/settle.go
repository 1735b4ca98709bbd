package scenario

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/internal/pace"
)

// settle gives each class its rates, and looks for what does not fit together. In a file with faults, which is not whole, it looks at the
// classes without a fault alone.
func (r *reader) settle(root *yaml.Node, s *Scenario, whole bool) {
	if len(s.Classes) == 0 {
		if !whole {
			return
		}
		r.fault(root, `a scenario needs "classes", with at least one class`)
		return
	}
	var shared []pace.Stage
	if !s.load.broken {
		shared = r.rates(&s.load, nil)
	}
	var sum float64
	for i := range s.Classes {
		sum += s.Classes[i].weight
	}
	for i := range s.Classes {
		c := &s.Classes[i]
		c.seed, c.draw = s.seed, s.arrivals
		if c.broken = c.broken || s.load.broken; c.broken {
			continue
		}
		before := len(r.faults)
		r.settleClass(s, c, shared, sum)
		c.broken = len(r.faults) > before
	}
	if whole && s.load.set() && sum == 0 && !r.grammar.Searched {
		r.at(s.load.at, `no class has a "weight", so no class has a part of the scenario's rate`)
	}
}

func (r *reader) at(p Position, text string) { r.faults = append(r.faults, Fault{r.path, p, text}) }

// settleClass gives a class its rates: its own ones, its share of the scenario's, or those of its options.
func (r *reader) settleClass(s *Scenario, c *Class, shared []pace.Stage, sum float64) {
	c.searched = r.grammar.Searched
	switch {
	case c.searched && c.weight == 0 && c.load.set():
		r.at(c.load.at, `the search chooses the rate of all classes together: give the class a "weight"`)
		return
	case c.searched:
		return
	case c.weight > 0 && c.load.set():
		r.at(c.load.at, `a class has a "weight", or a rate of its own`)
	case c.weight > 0 && !s.load.set():
		r.at(c.at, `a "weight" is a share of the scenario's rate: add "stages", or "rate" and "duration", to the scenario`)
	case c.weight > 0:
		if c.load.at == (Position{}) {
			c.load.at = s.load.at
		}
		for _, st := range shared {
			st.From, st.To = st.From*c.weight/sum, st.To*c.weight/sum
			c.Stages = append(c.Stages, st)
		}
	default:
		c.Stages = r.rates(&c.load, &s.load)
	}
	if len(c.Stages) == 0 {
		return
	}
	for _, o := range c.Options {
		if name := o.Row.Long; strings.HasPrefix(name, "concurrency-") || strings.HasPrefix(name, "request-rate") || name == c.Command.Stages || name == "fixed-schedule" {
			r.at(o.At, "the class has a rate from the scenario: leave "+o.Row.Name()+" out")
		}
	}
}

// rates are the stages of a load; none where it has no rate. A rate may hold for the duration of the scenario.
func (r *reader) rates(l, outer *load) []pace.Stage {
	length := l.duration
	if length.Value == "" && outer != nil && len(l.stages) == 0 {
		length = outer.duration
	}
	switch {
	case l.rate > 0 && len(l.stages) > 0:
		r.at(l.at, `"rate" and "stages" exclude each other`)
	case len(l.stages) > 0 && l.duration.Value != "":
		r.at(l.duration.At, `"duration" and "stages" exclude each other: each stage has its length`)
	case len(l.stages) > 0:
		return l.stages
	case l.rate > 0 && length.Value == "":
		r.at(l.at, `a rate needs its length: add "duration", such as "duration: 1m"`)
	case l.rate > 0:
		if d := r.length("duration", length); d > 0 {
			return []pace.Stage{{From: l.rate, To: l.rate, Time: d}}
		}
	case l.duration.Value != "" && outer != nil:
		r.at(l.duration.At, `"duration" needs "rate"; a class with a load of its own options has the options for its length too`)
	}
	return nil
}
