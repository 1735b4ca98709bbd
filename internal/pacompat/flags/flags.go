// Package flags is the command line of perf_analyzer and of redline profile: one table of options that becomes a plan.
//
// Each option is one option.Row. Parse checks a command line in perf_analyzer's order: syntax and single values as they come,
// then the load modes, then the rules across options. Like perf_analyzer it stops at the first fault and uses perf_analyzer's
// words, because programs match on them. Nothing below this package reads an option again.
//
// Both programs share the table. In perf_analyzer mode the messages are perf_analyzer's to the letter; where perf_analyzer
// aborts, one clear line is printed. redline profile has additional options.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// ErrVersion means that the user asked for the version.
var ErrVersion = errors.New("the version was asked for")

// UsageError is a fault of the command line; the exit code is 99.
type UsageError struct {
	Text string
	// ShowUsage: perf_analyzer prints its whole usage text before this one.
	ShowUsage bool

	badValue bool   // an option does not take its value
	original string // perf_analyzer's sentence where it is another; Parse puts it in the place of Text
	face     plan.Program
	argv0    string
}

// Error returns the bare message.
func (e *UsageError) Error() string { return e.Text }

// BadValue tells that an option does not take its value; see option.BadValue.
func (e *UsageError) BadValue() bool { return e.badValue }

// Stderr returns all that belongs on the error stream, for a terminal of the given width: in perf_analyzer mode what
// perf_analyzer prints, in redline one line and where to look.
func (e *UsageError) Stderr(width int) string {
	if e.face != plan.PerfAnalyzer {
		return fmt.Sprintf("redline profile: %s\nsee redline profile --help\n", e.Text)
	}
	if !e.ShowUsage {
		return fmt.Sprintf("Error: %s\n", e.Text)
	}
	c := Command(e.face, e.argv0)
	return fmt.Sprintf("%sError: %s\n\n", c.Help(width), e.Text)
}

// Notes are what Parse has to say besides the plan.
type Notes struct {
	// Warnings belong on stderr, in this order, before anything else, also when Parse fails.
	Warnings []string
	// CommandLine is the command line of redline profile without secrets, Options are its options, also those of one that Parse refuses.
	CommandLine string
	Options     []string
	// SaveScenario is the file that the run is saved to as a scenario; empty for none.
	SaveScenario string
}

// Parse reads args, which do not hold the program's name. Faults are *UsageError, option.ErrHelp or ErrVersion. The secrets of
// the command line go to secrets, also when Parse fails; nil takes none.
func Parse(face plan.Program, argv0 string, args []string, secrets *secret.Set) (*plan.Plan, Notes, error) {
	r := newRaw(face, secrets)
	err := r.parse(args)
	r.notes.CommandLine, r.notes.Options = r.table.Command("redline profile"), r.table.Arguments()
	if u, ok := errors.AsType[*UsageError](err); ok {
		u.face, u.argv0 = face, argv0
		if face == plan.PerfAnalyzer {
			u.Text = cmp.Or(u.original, u.Text)
		}
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
	for _, step := range []func() error{r.settle, r.verify, r.finish, r.settleFleet} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// settleFleet removes the defaults of the options of a fleet from a run without one.
func (r *raw) settleFleet() error {
	if r.plan.Fleet.Workers != "" {
		return nil
	}
	if err := r.plan.Fleet.Check(r.table.Given); err != nil {
		return line("%v", err)
	}
	r.plan.Fleet = plan.Fleet{}
	return nil
}

// scan reads the options.
func (r *raw) scan(args []string) error {
	strays, err := r.table.Parse(args)
	if err != nil {
		bad := option.BadValue(err)
		err = r.worded(err)
		if u, ok := errors.AsType[*UsageError](err); ok {
			u.badValue = bad
		}
		return err
	}
	if r.face == plan.Redline && len(strays) > 0 { // perf_analyzer ignores them
		return line("%v", r.table.Unexpected(strays[0], 0))
	}
	return nil
}

// worded puts an error of the table in perf_analyzer's words.
func (r *raw) worded(err error) error {
	if e, ok := errors.AsType[*option.SyntaxError](err); ok {
		return r.syntaxError(e)
	}
	if u, ok := errors.AsType[*UsageError](err); ok {
		return u
	}
	e, ok := errors.AsType[*option.ValueError](err)
	switch {
	case errors.Is(err, option.ErrHelp), errors.Is(err, ErrVersion):
		return err
	case !ok:
		return line("%v", err)
	}
	name, _, _ := strings.Cut(e.Form, " ")
	switch {
	case errors.Is(err, cxx.ErrInvalid):
		return failed(e.Form+". Invalid value provided: "+e.Value, cmp.Or(forms[name], fmt.Sprintf("%s does not take the value '%s'", name, e.Value)))
	case errors.Is(err, cxx.ErrRange):
		return aborted(fmt.Sprintf("Failed to parse %s. The number is out of range: %s", e.Form, e.Value), fmt.Sprintf("%s: the number %s is out of range", name, e.Value))
	}
	return line("%v", err)
}

// llmOptions are options of redline llm, AIPerf and GenAI-Perf that the profile of these tools has.
var llmOptions = []string{
	"endpoint-type", "concurrency", "request-rate", "isl", "osl", "synthetic-input-tokens-mean", "synthetic-input-tokens-stddev", "output-tokens-mean", "output-tokens-stddev",
	"tokenizer", "goodput", "num-prompts", "num-sessions", "num-conversations", "conversation-num", "benchmark-duration", "artifact-dir", "custom-dataset-type",
	"extra-inputs", "input-file", "backend", "num-dataset-entries", "random-seed",
}

// syntaxError words an argument that cannot be read: perf_analyzer knows three kinds.
func (r *raw) syntaxError(e *option.SyntaxError) error {
	if r.face != plan.PerfAnalyzer {
		if e.Fault == option.UnknownLong && slices.Contains(llmOptions, e.Name) {
			return line("--%s is an option of 'redline llm', which measures language models: use 'redline llm' in the place of 'redline profile'", e.Name)
		}
		return line("%v", e)
	}
	switch e.Fault {
	case option.UnknownShort, option.NoShortValue:
		return line("Invalid short option '-%c'", e.Short)
	case option.UnknownLong, option.Ambiguous, option.OneDash:
		return line("Invalid long option '%s'", e.Raw)
	case option.NoLongValue, option.UnexpectedValue:
		return line("Missing value for option '%s'", e.Raw)
	}
	return line("Unknown command-line argument.")
}

// forms are how the values of some options are written.
var forms = map[string]string{
	"--percentile":        "--percentile is a number above 0 and below 100, or -1 for the average",
	"--request-parameter": "--request-parameter is NAME:VALUE:TYPE, such as max_tokens:256:int",
}

// refused is a fault in perf_analyzer's words, which it shows below its usage text, and in redline's.
func refused(original, ours string) error {
	return &UsageError{Text: ours, original: original, ShowUsage: true}
}

// refuseIf is refused where bad is true, else nil.
func refuseIf(bad bool, original, ours string) error {
	if bad {
		return refused(original, ours)
	}
	return nil
}

// lineIf is line where bad is true, else nil.
func lineIf(bad bool, format string, args ...any) error {
	if bad {
		return line(format, args...)
	}
	return nil
}

// aborted is a fault in perf_analyzer mode's words, for a place where perf_analyzer aborts, and in redline's.
func aborted(original, ours string) error { return &UsageError{Text: ours, original: original} }

// failed refuses the value of an option. said is what perf_analyzer says after "Failed to parse": the option, and a rule about
// its value. An empty ours is the option and the rule.
func failed(said, ours string) error {
	if ours == "" {
		name, rule, _ := strings.Cut(said, ". ")
		name, _, _ = strings.Cut(name, " ")
		ours = name + ": " + strings.ToLower(rule[:1]) + strings.TrimSuffix(rule[1:], ".")
	}
	return refused("Failed to parse "+said, ours)
}

// line is a fault that both programs state in the same words.
func line(format string, args ...any) error {
	return &UsageError{Text: fmt.Sprintf(format, args...)}
}

// perfAnalyzerVersion is the release of perf_analyzer that perf_analyzer mode behaves as.
const perfAnalyzerVersion = "2.60.0"

// VersionLine returns what --version prints, given redline's own version. Programs read perf_analyzer's line; ours
// stands below it.
func VersionLine(face plan.Program, version string) string {
	if face == plan.PerfAnalyzer {
		return fmt.Sprintf("Perf Analyzer Version %s (commit unknown)\nredline %s", perfAnalyzerVersion, version)
	}
	return "redline " + version
}
