// Package option is the table of a command's options.
//
// One Row declares one option of any command: its names, its value, its default, its help, and the field that it sets.
// Everything else is derived from the rows: a Table reads a command line and knows which options were given; a Command
// writes help, docs/flags.md and completion for shells; secrets are collected before anything prints them.
package option

import (
	"errors"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/secret"
)

// ErrHelp means that the user asked for help.
var ErrHelp = errors.New("help was asked for")

// HelpError is an ErrHelp about a word.
type HelpError struct{ Word string }

// Error implements error.
func (e *HelpError) Error() string { return ErrHelp.Error() + " about " + e.Word }

// Is tells that this is an ErrHelp.
func (e *HelpError) Is(target error) bool { return target == ErrHelp }

// Row is one option.
type Row struct {
	Long  string // name without dashes; empty for none
	Short byte   // one-letter name; 0 for none
	Also  string // further long names, separated by spaces
	Word  string // key in scenario files of an option that has no long name

	Group string // heading in help and docs/flags.md
	// Arg is the name of the value in help; empty for an option without a value. Shells complete a FILE and a DIR.
	Arg     string
	Help    string
	Default string // default value in words; empty: the default of To
	Unit    string // unit of the value, if it takes no other; a time or a size has its unit in To
	Repeat  bool   // may be given several times
	Writes  bool   // the command writes the file that the value names
	// Optional: the value may be omitted; Set then receives the empty text. The value is the next argument, unless that is an option.
	Optional bool
	// RedlineOnly: perf_analyzer does not have the option.
	RedlineOnly bool
	Secret      secret.Kind // where the value can hold a secret
	// Instead marks an option of another tool, which this command does not have. It completes the sentence "--NAME ..." of
	// the error and names what to write. Help and completion leave the row out.
	Instead string

	To Value // where the value goes
}

// Group puts rows under a heading.
func Group(title string, rows []Row) []Row {
	for i := range rows {
		rows[i].Group = title
	}
	return rows
}

// Name is the option as a user writes it: "--async", or "-m" if the option has no long name.
func (r *Row) Name() string { return r.Names()[0] }

// Names are all forms of the option, long names first.
func (r *Row) Names() []string {
	var list []string
	if r.Long != "" {
		list = append(list, "--"+r.Long)
	}
	for name := range strings.FieldsSeq(r.Also) {
		list = append(list, "--"+name)
	}
	if r.Short != 0 {
		list = append(list, "-"+string(r.Short))
	}
	return list
}

// called tells whether name, without dashes, is the option's first name.
func (r *Row) called(name string) bool {
	return r.Long == name || r.Long == "" && string(r.Short) == name
}

// Keys are the names of the option in scenario files, the best one first: its long names, its Word, or its letter.
func (r *Row) Keys() []string {
	keys := r.longNames()
	switch {
	case r.Word != "":
		keys = append(keys, r.Word)
	case len(keys) == 0:
		keys = append(keys, string(r.Short))
	}
	return keys
}

// longNames are the long names without dashes.
func (r *Row) longNames() []string {
	return slices.DeleteFunc(append([]string{r.Long}, strings.Fields(r.Also)...), func(s string) bool { return s == "" })
}

// files and dirs tell what shells complete as the value.
func (r *Row) files() bool { return strings.Contains(r.Arg, "FILE") }
func (r *Row) dirs() bool  { return strings.Contains(r.Arg, "DIR") && !r.files() }

// DefaultText is the default with its unit: "5000 ms". The number 0 mostly means that the option has no effect; a row whose
// default is a real 0 says so in Default.
func (r *Row) DefaultText() string {
	text := r.Default
	if text == "" && r.To.Default != "0" {
		text = r.To.Default
	}
	number, rest, comma := strings.Cut(text, ", ")
	if r.Unit == "" || number == "" || strings.Trim(number, "0123456789.") != "" {
		return text
	}
	if comma {
		rest = ", " + rest
	}
	return number + " " + r.Unit + rest
}

// visible are the rows of help, docs and completion.
func visible(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Instead != "" })
}
