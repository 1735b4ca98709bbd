// Package scenario reads and writes scenario files: several traffic classes that load servers at the same time.
//
// A class is a run of `redline profile` or `redline llm` with the options of that command: their names are the keys of the file,
// so an option that a command gets is an option of scenarios too. What is added here is what concerns several classes: rates
// mixed by weight, stages, and references to environment variables in place of secrets.
//
// Each key of a file is one field of a table, which reads it and describes it in the JSON Schema. Every fault of a file has its
// line and column.
package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
)

// Whole is the name of all classes together. No class may have it.
const Whole = "all classes"

// Scenario is a file as it was read.
type Scenario struct {
	Name       string
	Options    []Option // of `redline run`
	Objectives []Text   // rules for all classes together
	Classes    []Class

	seed     uint64
	arrivals string
	load     load
}

// Class is one kind of traffic.
type Class struct {
	Name       string
	Command    *Command
	Options    []Option
	Objectives []Text // rules for this class
	// Stages are its rates; empty where its options say what the load is.
	Stages []pace.Stage

	at     Position
	weight float64
	load   load
	index  int
	seed   uint64
	draw   string // arrivals
	// searched: a search chooses the rate of all classes together.
	searched bool
	broken   bool // there is a fault in its part of the file
}

// Broken tells whether there is a fault in the class's part of the file, or in the rates that it needs.
func (c *Class) Broken() bool { return c.broken }

// Weight is the share of the class in a load whose rate a search chooses, in proportion to the others; 1 if the file has none.
func (c *Class) Weight() float64 { return cmp.Or(c.weight, 1) }

// load is what a file says of rates.
type load struct {
	at       Position
	rate     float64
	duration Text
	stages   []pace.Stage
	broken   bool // there is a fault in it
}

// set tells whether a load has a rate or stages.
func (l *load) set() bool { return l.rate > 0 || len(l.stages) > 0 }

// Command is a command whose runs can be classes.
type Command struct {
	Name string
	Rows []option.Row
	// Seed, Arrivals and Stages are the options that scenarios set.
	Seed, Arrivals, Stages string
	// Outside are options that a class cannot have because they are about the run as a whole.
	Outside []string
}

// Grammar is what a file can contain besides its own keys.
type Grammar struct {
	Commands []Command
	Run      []option.Row // options of `redline run`
	// Searched: a search chooses the rate of all classes together. Rates of the scenario are not used, and weights need none.
	Searched bool
}

// Option is one option of a file.
type Option struct {
	Row    *option.Row
	Values []Text // one for each time that the option is given
	At     Position
}

// Text is a value of a file.
type Text struct {
	Value string
	At    Position
}

// Position is a place in a file, counted from 1.
type Position struct{ Line, Column int }

// Fault is what is wrong at one place of a file.
type Fault struct {
	Path string
	At   Position
	Text string
}

// String is the fault as one line.
func (f Fault) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.Path, f.At.Line, f.At.Column, f.Text)
}

// SortFaults puts faults into the order of their places.
func SortFaults(list []Fault) {
	slices.SortStableFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
}

// Arguments are the options of a file as a command line.
func Arguments(list []Option) []string {
	var args []string
	for _, o := range list {
		for _, v := range o.Values {
			arg := o.Row.Name()
			if o.Row.Arg != "" {
				arg += "=" + v.Value
			}
			args = append(args, arg)
		}
	}
	return args
}

// Arguments are the command line of a class: its options, and those that follow from the scenario.
func (c *Class) Arguments() []string {
	args := Arguments(c.Options)
	add := func(name, value string) {
		if name != "" && value != "" && !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Row.Long == name }) {
			args = append(args, "--"+name+"="+value)
		}
	}
	if len(c.Stages) > 0 {
		add(c.Command.Stages, pace.FormatStages(c.Stages))
	}
	if len(c.Stages) > 0 || c.searched {
		add(c.Command.Arrivals, c.draw)
	}
	if seed := c.seed + uint64(c.index); seed > 0 { // classes have arrivals of their own
		add(c.Command.Seed, strconv.FormatUint(seed, 10))
	}
	return args
}

// Locate is where the class says what an error is about: the option that the error names, or else the class.
func (c *Class) Locate(err error) Position {
	text := err.Error()
	at, longest := c.at, 0
	for _, o := range c.Options {
		for _, name := range o.Row.Names() {
			if len(name) > longest && names(text, name) {
				at, longest = o.At, len(name)
				if len(o.Values) > 0 {
					at = o.Values[0].At
				}
			}
		}
	}
	if longest == 0 && len(c.Stages) > 0 && names(text, "--"+c.Command.Stages) {
		at = c.load.at
	}
	return at
}

// Without are the arguments of the class without the option that an error names; all of them if it names none.
func (c *Class) Without(args []string, err error) []string {
	text := err.Error()
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return names(text, name)
	})
}

// names tells whether a text has the name of an option, not as a part of another name.
func names(text, name string) bool {
	for rest := text; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := rest[i+len(name):]
		if end == "" || !strings.ContainsAny(end[:1], "-abcdefghijklmnopqrstuvwxyz") {
			return true
		}
		rest = end
	}
}
