// Package flags is perf_analyzer's command line, and redline profile's: one table of options, and what follows
// from it.
//
// Each option is one Row. Parse reads a command line against the rows, in the original's order: grammar and
// single values as they come, then the rules that tie the load modes together, then the rules across options.
// Like the original it stops at the first fault, and says it in the
// original's words, because programs match on them. The result is a plan; nothing below reads a flag again.
//
// Two faces share the table. The drop-in speaks perf_analyzer's dialect to the letter, save where the original
// aborts: there it says one clear line. Redline has a few options more and fewer oddities.
package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/getopt"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// What a command line can ask for instead of a run.
var (
	ErrHelp    = errors.New("help was asked for")
	ErrVersion = errors.New("the version was asked for")
)

// UsageError is a fault of the command line; the exit code is 99.
type UsageError struct {
	Text string
	// ShowUsage: the original prints its whole usage text before this one.
	ShowUsage bool

	face  plan.Program
	argv0 string
}

// Error returns the bare message.
func (e *UsageError) Error() string { return e.Text }

// Stderr returns all that belongs on the error stream, for a terminal of the given width: in the drop-in what
// perf_analyzer prints, in redline one line and where to look.
func (e *UsageError) Stderr(width int) string {
	if e.face != plan.PerfAnalyzer {
		return fmt.Sprintf("redline profile: %s\nrun 'redline help profile' for all options\n", e.Text)
	}
	if !e.ShowUsage {
		return fmt.Sprintf("Error: %s\n", e.Text)
	}
	return fmt.Sprintf("%sError: %s\n\n", help(e.face, e.argv0, width), e.Text)
}

// Notes are what Parse has to say besides the plan.
type Notes struct {
	// Warnings belong on stderr, in this order, before anything else, also when Parse fails.
	Warnings []string
}

// Parse reads args, which do not hold the program's name. Faults are *UsageError, ErrHelp or ErrVersion. The secrets of
// the command line go to secrets, also when Parse fails; nil takes none.
func Parse(face plan.Program, argv0 string, args []string, secrets *secret.Set) (*plan.Plan, Notes, error) {
	r := newRaw(face)
	r.secrets = secrets
	err := r.parse(args)
	if u, ok := errors.AsType[*UsageError](err); ok {
		u.face, u.argv0 = face, argv0
	}
	if err != nil {
		return nil, r.notes, err
	}
	p, err := plan.New(r.plan)
	return p, r.notes, err
}

func (r *raw) parse(args []string) error {
	if err := r.scan(args); err != nil {
		return err
	}
	for _, step := range []func() error{r.settle, r.verify, r.finish} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the options one after the other and sets each before it looks at the next.
func (r *raw) scan(args []string) error {
	rows := Rows(r.face)
	s := getopt.New(grammar(rows), args)
	for {
		o, ok, err := s.Next()
		if err != nil {
			return r.grammarError(err)
		}
		if !ok {
			break
		}
		row := &rows[o.Index]
		r.secrets.Collect(row.Secret, o.Value)
		r.headers = r.headers || row.Secret == secret.Header
		u := use{row: row, form: row.form(o.Long), value: o.Value}
		if err := r.apply(u); err != nil {
			return err
		}
	}
	if r.face == plan.Redline {
		for _, stray := range s.Strays() {
			if r.headers { // a header may lack its quotes
				r.secrets.Collect(secret.Header, stray)
			}
			r.warn(fmt.Sprintf("redline profile: the argument '%s' belongs to no option and is ignored", stray))
		}
	}
	return nil
}

// apply sets one option, and puts a bad number in the original's words.
func (r *raw) apply(u use) error {
	err := u.row.set(r, u.value)
	switch {
	case errors.Is(err, cxx.ErrInvalid):
		return usagef("Failed to parse %s. Invalid value provided: %s", u.form, u.value)
	case errors.Is(err, cxx.ErrRange):
		return line("Failed to parse %s. The number is out of range: %s", u.form, u.value)
	}
	return err
}

// grammarError words a mistake of grammar: the original knows three kinds.
func (r *raw) grammarError(err error) error {
	e, ok := errors.AsType[*getopt.Error](err)
	if !ok {
		return err
	}
	if _, v, ok := strings.Cut(e.Raw, "="); ok && (secret.Sensitive(e.Name) || strings.Contains(e.Name, "header")) {
		r.secrets.Collect(secret.Header, v) // an option of another tool
	}
	if r.face != plan.PerfAnalyzer {
		return line("%s", e.Error())
	}
	switch e.Fault {
	case getopt.UnknownShort, getopt.NoShortValue:
		return line("Invalid short option '-%c'", e.Short)
	case getopt.UnknownLong, getopt.Ambiguous:
		return line("Invalid long option '%s'", e.Raw)
	case getopt.NoLongValue, getopt.UnexpectedValue:
		return line("Missing value for option '%s'", e.Raw)
	}
	return line("Unknown command-line argument.")
}

// usagef is a fault that the original shows below its usage text.
func usagef(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...), ShowUsage: true}
}

// line is a fault that stands alone: of grammar, or where the original aborts.
func line(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// originalVersion is the release of perf_analyzer whose behavior the drop-in has.
const originalVersion = "2.60.0"

// VersionLine returns what --version prints, given redline's own version. Programs read the original's line; ours
// stands below it.
func VersionLine(face plan.Program, version string) string {
	if face == plan.PerfAnalyzer {
		return fmt.Sprintf("Perf Analyzer Version %s (commit unknown)\nredline %s", originalVersion, version)
	}
	return "redline " + version
}
