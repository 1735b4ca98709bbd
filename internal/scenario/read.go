package scenario

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/unit"
)

// reader reads one file.
type reader struct {
	path    string
	grammar *Grammar
	getenv  func(name string) string
	secret  func(value string)
	key     string // the key that is read
	address bool   // the value at hand is an address: only parts of it are secret, and its option knows which
	faults  []Fault
}

// Read reads a scenario. path names it in faults. Values of environment variables come from getenv, and found is told each of
// them that is secret. The faults are all that were found, by their place in the file; the scenario is complete only without any.
func Read(path string, content []byte, g *Grammar, getenv func(string) string, found func(secret string)) (*Scenario, []Fault) {
	r := &reader{path: path, grammar: g, getenv: getenv, secret: found}
	var doc yaml.Node
	s := &Scenario{}
	switch err := yaml.Unmarshal(content, &doc); {
	case err != nil:
		return nil, []Fault{r.syntax(content, err)}
	case len(doc.Content) == 0:
		return nil, []Fault{{path, Position{1, 1}, `the file is empty: a scenario needs "classes"`}}
	}
	root := doc.Content[0]
	whole := r.mapping(root, "a scenario", r.top(s))
	r.settle(root, s, whole)
	SortFaults(r.faults)
	return s, r.faults
}

// syntaxLine is how the library says where a file is not YAML.
var syntaxLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

// syntax is the fault of a file that is not YAML. The library names the line; the column is where the line's text begins.
func (r *reader) syntax(content []byte, err error) Fault {
	f := Fault{r.path, Position{1, 1}, "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil {
		f.Text = "not valid YAML: " + m[2]
		f.At.Line, _ = strconv.Atoi(m[1])
		if lines := strings.Split(string(content), "\n"); f.At.Line >= 1 && f.At.Line <= len(lines) {
			line := lines[f.At.Line-1]
			f.At.Column = 1 + len(line) - len(strings.TrimLeft(line, " \t"))
		}
	}
	return f
}

func at(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// bad is a fault of the value of the key that is read.
func (r *reader) bad(n *yaml.Node, must string, args ...any) {
	r.fault(n, "%q must be %s", r.key, fmt.Sprintf(must, args...))
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, Fault{r.path, at(n), fmt.Sprintf(format, args...)})
}

// mapping reads an object with the given fields. It returns false where there is none, or a fault in it.
func (r *reader) mapping(n *yaml.Node, what string, fields []field) bool {
	before := len(r.faults)
	r.pairs(n, what, func(key, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		if i >= 0 {
			outer := r.key
			r.key = key.Value
			fields[i].read(value)
			r.key = outer
			return
		}
		names := convert.All(fields, func(f field) string { return f.name })
		r.fault(key, "%s has no key %q; it has %s", what, key.Value, strings.Join(names, ", "))
	})
	return len(r.faults) == before
}

// hasOnly tells whether an object has no keys but these.
func hasOnly(n *yaml.Node, fields []field) bool {
	only := n.Kind == yaml.MappingNode
	for i := 0; i+1 < len(n.Content); i += 2 {
		only = only && slices.ContainsFunc(fields, func(f field) bool { return f.name == n.Content[i].Value })
	}
	return only
}

// pairs calls do for each key of an object. Each key may stand once.
func (r *reader) pairs(n *yaml.Node, what string, do func(key, value *yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be an object with keys", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			r.fault(key, "merge keys are not supported: write the keys out")
			continue
		}
		if seen[key.Value] {
			r.fault(key, "the key %q stands twice", key.Value)
			continue
		}
		seen[key.Value] = true
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		do(key, value)
	}
}

// text reads a scalar as text, with the values of environment variables.
func (r *reader) text(n *yaml.Node) Text {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.bad(n, "one value")
		return Text{At: at(n)}
	}
	return Text{Value: r.expand(n), At: at(n)}
}

func (r *reader) texts(n *yaml.Node) []Text {
	if n.Kind != yaml.SequenceNode {
		r.bad(n, "a list, such as [a, b]")
		return nil
	}
	return convert.All(n.Content, r.text)
}

func (r *reader) word(n *yaml.Node, words ...string) string {
	v := r.text(n).Value
	if !slices.Contains(words, v) {
		r.bad(n, "%s, not %q", strings.Join(words, " or "), v)
	}
	return v
}

func (r *reader) whole(n *yaml.Node) uint64 {
	v, err := strconv.ParseUint(r.text(n).Value, 10, 64)
	if err != nil {
		r.bad(n, "a whole number of at least 0")
	}
	return v
}

// number reads a number of at least 0.
func (r *reader) number(n *yaml.Node) float64 {
	v, err := strconv.ParseFloat(r.text(n).Value, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		r.bad(n, "a number of at least 0")
		return 0
	}
	return v
}

func (r *reader) positive(n *yaml.Node) float64 {
	before := len(r.faults)
	v := r.number(n)
	if v == 0 && len(r.faults) == before {
		r.bad(n, "a number above 0")
	}
	return v
}

// reference is a reference to an environment variable; a second dollar sign before it makes it plain text.
var reference = regexp.MustCompile(`\$?\$\{env:([^}]*)\}`)

// expand replaces references to environment variables.
func (r *reader) expand(n *yaml.Node) string {
	return reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		name := reference.FindStringSubmatch(ref)[1]
		value := r.getenv(name)
		if value == "" {
			r.fault(n, "the environment variable %s is not set", name)
		} else if r.secret != nil && !r.address {
			r.secret(value)
		}
		return value
	})
}

// options reads the options of a command.
func (r *reader) options(n *yaml.Node, command string, rows []option.Row) []Option {
	var out []Option
	r.pairs(n, "the options of redline "+command, func(key, value *yaml.Node) {
		row := find(rows, key.Value)
		switch {
		case row == nil:
			hint := "see redline help " + command
			if near := option.Near(key.Value, keys(rows)); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			r.fault(key, "redline %s has no option %q; %s", command, key.Value, hint)
		case row.Instead != "":
			r.fault(key, "%q %s", key.Value, inKeys(row.Instead, rows))
		default:
			r.key = key.Value
			o := Option{Row: row, Values: r.values(value, row), At: at(key)}
			if len(o.Values) > 0 {
				out = append(out, o)
			}
		}
	})
	return out
}

// optionName is an option in a hint for the command line. The command lines between quotes are matched first, as they stay as they are.
var optionName = regexp.MustCompile(`'redline [^']*'|(?:^|\B)(?:--[a-z][a-z0-9-]*|-[a-zA-Z]\b)`)

// inKeys turns a hint for the command line, "is written -m MODEL", into one for a scenario: "is written model: MODEL".
func inKeys(hint string, rows []option.Row) string {
	return optionName.ReplaceAllStringFunc(hint, func(name string) string {
		i := slices.IndexFunc(rows, func(row option.Row) bool { return row.Instead == "" && slices.Contains(row.Names(), name) })
		switch {
		case i < 0:
			return name
		case rows[i].Arg == "": // a switch
			return rows[i].Keys()[0] + ": true"
		}
		return rows[i].Keys()[0] + ":"
	})
}

// find is the option with a key; nil where there is none.
func find(rows []option.Row, key string) *option.Row {
	for i := range rows {
		if slices.Contains(rows[i].Keys(), key) {
			return &rows[i]
		}
	}
	return nil
}

// keys are the keys of all options that a class can have.
func keys(rows []option.Row) []string {
	var names []string
	for i := range rows {
		if rows[i].Instead == "" {
			names = append(names, rows[i].Keys()...)
		}
	}
	return names
}

// length reads how long something lasts; a number without a unit is in seconds. It is 0 where the text is no time above 0.
func (r *reader) length(key string, t Text) time.Duration {
	d, err := unit.Time(t.Value, time.Second)
	if err != nil || d == 0 {
		r.at(t.At, fmt.Sprintf("%q is a time above 0, such as 2m or 250ms, or a number of seconds, not %q", key, t.Value))
		return 0
	}
	return d
}

// values are the values of an option: one, or a list of an option that may be given several times. A switch is true or false.
func (r *reader) values(n *yaml.Node, row *option.Row) []Text {
	r.address = row.Secret == secret.URL
	defer func() { r.address = false }()
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if items = n.Content; !row.Repeat {
			r.fault(n, "%s takes one value, not a list", row.Name())
		}
	}
	var out []Text
	for _, item := range items {
		if row.Arg != "" {
			out = append(out, r.text(item))
			continue
		}
		var on bool
		if item.Tag != "!!bool" || item.Decode(&on) != nil {
			r.fault(item, "%s is a switch: true or false", row.Name())
		}
		if on {
			out = append(out, Text{At: at(item)})
		}
	}
	return out
}

// classes reads all classes.
func (r *reader) classes(n *yaml.Node) []Class {
	var out []Class
	r.pairs(n, `"classes"`, func(key, value *yaml.Node) {
		c := Class{Name: key.Value, at: at(key), index: len(out)}
		switch {
		case key.Value == "" || strings.ContainsAny(key.Value, "\n\r,"):
			r.fault(key, "a class needs a name of one line without commas")
		case key.Value == Whole:
			r.fault(key, "%q names all classes together in reports: choose another name", Whole)
		}
		before := len(r.faults)
		keys := r.class(&c)
		r.mapping(value, "a class", keys)
		if c.Command == nil && hasOnly(value, keys) {
			r.fault(key, "the class %q needs %s with the options of that command", c.Name, r.commands())
		}
		c.broken = len(r.faults) > before
		out = append(out, c)
	})
	return out
}

// commands names the commands that a class can have.
func (r *reader) commands() string {
	return strings.Join(convert.All(r.grammar.Commands, func(c Command) string { return strconv.Quote(c.Name) }), " or ")
}

// command reads the options of a class.
func (r *reader) command(c *Class, cmd *Command, n *yaml.Node) {
	if c.Command != nil {
		r.fault(n, "a class has one of %s", r.commands())
		return
	}
	c.Command = cmd
	c.Options = r.options(n, cmd.Name, cmd.Rows)
	for _, o := range c.Options {
		if slices.Contains(cmd.Outside, o.Row.Name()) {
			r.faults = append(r.faults, Fault{r.path, o.At, fmt.Sprintf("%s is about the whole run: give it to redline run, or put it under \"options\" of the scenario", o.Row.Name())})
		}
	}
}
