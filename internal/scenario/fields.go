package scenario

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/internal/pace"
)

// field is one key of a file: how it is read, and how the JSON Schema describes it.
type field struct {
	name   string
	help   string
	schema map[string]any
	read   func(n *yaml.Node)
}

func number(least float64) map[string]any {
	return map[string]any{"type": "number", "exclusiveMinimum": least}
}

func text(words ...string) map[string]any {
	if len(words) == 0 {
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "string", "enum": words}
}

// length is a time above 0.
func length() map[string]any {
	return map[string]any{"type": []string{"string", "number"}, "exclusiveMinimum": 0}
}

func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

// top are the keys of a file.
func (r *reader) top(s *Scenario) []field {
	return append([]field{
		{"name", "name of the scenario; the label of the run unless another is given", text(), func(n *yaml.Node) { s.Name = r.text(n).Value }},
		{"seed", "seed of all random choices; each class adds its place in the file, counted from 0", map[string]any{"type": "integer", "minimum": 0}, func(n *yaml.Node) { s.seed = r.whole(n) }},
		{"arrivals", "how requests at a rate are spread over time; without it each command has its own default", text("constant", "poisson"), func(n *yaml.Node) { s.arrivals = r.word(n, "constant", "poisson") }},
		{"objectives", "rules for all classes together, such as error_rate<0.1%", list(text()), func(n *yaml.Node) { s.Objectives = r.texts(n) }},
		{"options", "options of redline run, such as json or report", ref("run"), func(n *yaml.Node) { s.Options = r.options(n, "run", r.grammar.Run) }},
		{"classes", "the traffic classes by name; all of them start together", map[string]any{"type": "object", "minProperties": 1, "additionalProperties": ref("class")}, func(n *yaml.Node) { s.Classes = r.classes(n) }},
	}, r.loads(&s.load, "of all classes with a weight together")...)
}

// class are the keys of a class.
func (r *reader) class(c *Class) []field {
	fields := append([]field{
		{"weight", "share of the scenario's rate: this weight divided by the sum of all weights", number(0), func(n *yaml.Node) { c.weight = r.positive(n) }},
		{"objectives", "rules for this class, such as p99<50ms or ttft.p99<200ms", list(text()), func(n *yaml.Node) { c.Objectives = r.texts(n) }},
	}, r.loads(&c.load, "of this class")...)
	for i := range r.grammar.Commands {
		cmd := &r.grammar.Commands[i]
		fields = append(fields, field{
			cmd.Name, "options of redline " + cmd.Name + ", by their long names without dashes", ref(cmd.Name),
			func(n *yaml.Node) { r.command(c, cmd, n) },
		})
	}
	return fields
}

// loads are the keys of a load.
func (r *reader) loads(l *load, whose string) []field {
	noted := func(read func(n *yaml.Node)) func(n *yaml.Node) {
		return func(n *yaml.Node) {
			if l.at == (Position{}) {
				l.at = at(n)
			}
			before := len(r.faults)
			read(n)
			l.broken = l.broken || len(r.faults) > before
		}
	}
	return []field{
		{"rate", "requests per second " + whose + "; needs duration", number(0), noted(func(n *yaml.Node) { l.rate = r.positive(n) })},
		{"duration", "how long rate holds, such as 2m; a number without a unit is in seconds", length(), noted(func(n *yaml.Node) {
			l.duration = r.text(n)
			r.length("duration", l.duration)
		})},
		{"stages", "rates " + whose + " that follow one another", list(ref("stage")), noted(func(n *yaml.Node) { l.stages = r.stages(n) })},
	}
}

// stage is a stage as the file has it.
type stage struct {
	rate, from, to float64
	given          []string
	time           Text
}

func (r *reader) stage(s *stage) []field {
	level := func(to *float64, name string) func(n *yaml.Node) {
		return func(n *yaml.Node) {
			s.given = append(s.given, name)
			*to = r.number(n)
		}
	}
	any0 := map[string]any{"type": "number", "minimum": 0}
	return []field{
		{"rate", "requests per second in the whole stage", number(0), level(&s.rate, "rate")},
		{"from", "requests per second at the beginning of a ramp", any0, level(&s.from, "from")},
		{"to", "requests per second at the end of a ramp", any0, level(&s.to, "to")},
		{"for", "length of the stage, such as 2m; a number without a unit is in seconds", length(), func(n *yaml.Node) { s.time = r.text(n) }},
	}
}

// stages reads a list of stages.
func (r *reader) stages(n *yaml.Node) []pace.Stage {
	var out []pace.Stage
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.fault(n, `"stages" must be a list of stages, such as "- {rate: 10, for: 30s}" or "- {from: 10, to: 50, for: 1m}"`)
		return nil
	}
	for _, item := range n.Content {
		var s stage
		if !r.mapping(item, "a stage", r.stage(&s)) {
			continue
		}
		switch given := strings.Join(s.given, " "); {
		case given == "rate":
			s.from, s.to = s.rate, s.rate
		case given != "from to" && given != "to from":
			r.fault(item, `a stage has "rate", or "from" and "to"`)
			continue
		}
		switch {
		case s.time.At == (Position{}):
			r.fault(item, `a stage needs its length: add "for", such as "for: 30s"`)
		case s.from+s.to <= 0:
			r.fault(item, "a stage needs a rate above 0")
		default:
			if d := r.length("for", s.time); d > 0 {
				out = append(out, pace.Stage{From: s.from, To: s.to, Time: d})
			}
		}
	}
	return out
}
