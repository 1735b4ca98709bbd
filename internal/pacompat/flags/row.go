package flags

import (
	"slices"

	"github.com/redline-bench/redline/internal/getopt"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Row is one option, written once: its grammar, its meaning, and how it lands in the plan. Help, completion and
// docs/flags.md are read off the rows.
type Row struct {
	Long  string // without dashes; empty for none
	Short byte   // 0 for none
	Arg   string // what stands for the value in help; empty for an option that takes none

	Section Section
	Help    string // what it does and why one would use it; sentences
	Default string // as text, without the unit; empty where there is none worth naming
	Unit    string
	Repeat  bool // may be given several times, each adding to the last
	Face    Faces
	Hint    Hint
	Secret  secret.Kind // where the value can carry a secret

	set func(*raw, string) error
}

// Faces says which faces have an option.
type Faces int

// The sets of faces.
const (
	Both Faces = iota
	RedlineOnly
)

// has reports whether the option belongs to a face.
func (f Faces) has(face plan.Program) bool { return f == Both || face == plan.Redline }

// Hint tells shells how to complete a value.
type Hint struct {
	Files, Dirs bool
	Values      []string
}

// files completes file names; dirs only directories; values a fixed set of words.
func files() Hint                 { return Hint{Files: true} }
func dirs() Hint                  { return Hint{Dirs: true} }
func values(words ...string) Hint { return Hint{Values: words} }

// Section is a heading that options stand under in help and in the reference.
type Section string

// The sections, in the order of the help text.
const (
	Target      Section = "Target"
	Load        Section = "Load"
	Measurement Section = "Measurement"
	Input       Section = "Input data"
	Transport   Section = "Transport: connections, headers and encryption"
	Sequences   Section = "Sequences"
	Server      Section = "Server metrics, traces and logs"
	Output      Section = "Output"
	Outcomes    Section = "Reports, history and rules"
	Kinds       Section = "Other service kinds"
	Deprecated  Section = "Deprecated, kept for old scripts"
)

// Sections returns the sections in their order.
func Sections() []Section {
	return []Section{Target, Load, Measurement, Input, Transport, Sequences, Server, Output, Outcomes, Kinds, Deprecated}
}

// Rows returns the options of a face, section by section.
func Rows(face plan.Program) []Row {
	all := slices.Concat(targetRows(), loadRows(), measureRows(), inputRows(), transportRows(),
		sequenceRows(), serverRows(), outputRows(), outcomeRows(), kindRows(), deprecatedRows())
	return slices.DeleteFunc(all, func(r Row) bool { return !r.Face.has(face) })
}

// Name returns the option as a user would write it, the long form first: "--async".
func (r *Row) Name() string {
	if r.Long != "" {
		return "--" + r.Long
	}
	return "-" + string(r.Short)
}

// form returns the option as the user did write it, whole.
func (r *Row) form(long bool) string {
	if long {
		return "--" + r.Long
	}
	return "-" + string(r.Short)
}

// grammar is what getopt needs to know of rows.
func grammar(rows []Row) []getopt.Option {
	opts := make([]getopt.Option, len(rows))
	for i, r := range rows {
		opts[i] = getopt.Option{Long: r.Long, Short: r.Short, Arg: r.Arg != ""}
	}
	return opts
}
