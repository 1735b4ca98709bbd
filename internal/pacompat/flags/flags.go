// Package flags is the command line of perf_analyzer and of redline profile: one table of options that becomes a plan.
//
// Each option is one option.Row. Parse reads single values as they come, then settles the load mode, then applies the rules across
// options. An error is one sentence, the same for both programs. Nothing below this package reads an option again, or knows
// which program it was.
package flags

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Program is whose command line is read.
type Program int

// The programs. redline profile has perf_analyzer's options and some of its own.
const (
	Redline Program = iota
	PerfAnalyzer
)

// ErrVersion means that the user asked for the version.
var ErrVersion = errors.New("the version was asked for")

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

// Parse reads args, which do not hold the program's name. The secrets of the command line go to secrets, also when Parse fails;
// nil takes none.
func Parse(program Program, args []string, secrets *secret.Set) (*plan.Plan, Notes, error) {
	r := newRaw(program, secrets)
	err := r.parse(args)
	r.notes.CommandLine, r.notes.Options = r.table.Command("redline profile"), r.table.Arguments()
	if err != nil {
		return nil, r.notes, err
	}
	p, err := plan.New(r.plan)
	return p, r.notes, err
}

func (r *raw) parse(args []string) error {
	strays, err := r.table.Parse(args)
	if err != nil {
		return meantForLLM(err)
	}
	if !r.compat && len(strays) > 0 { // perf_analyzer ignores them
		return r.table.Unexpected(strays[0], 0)
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
		return err
	}
	r.plan.Fleet = plan.Fleet{}
	return nil
}

// llmOptions are options of redline llm, AIPerf and GenAI-Perf that the profile of these tools has.
var llmOptions = []string{
	"endpoint-type", "concurrency", "request-rate", "isl", "osl", "synthetic-input-tokens-mean", "synthetic-input-tokens-stddev", "output-tokens-mean", "output-tokens-stddev",
	"tokenizer", "goodput", "num-prompts", "num-sessions", "num-conversations", "conversation-num", "benchmark-duration", "artifact-dir", "custom-dataset-type",
	"extra-inputs", "input-file", "backend", "num-dataset-entries", "random-seed",
}

// meantForLLM is an error about an unknown option, which names redline llm where that has it.
func meantForLLM(err error) error {
	if e, ok := errors.AsType[*option.SyntaxError](err); ok && e.Fault == option.UnknownLong && slices.Contains(llmOptions, e.Name) {
		return fmt.Errorf("--%s is an option of 'redline llm', which measures language models: use 'redline llm' in the place of 'redline profile'", e.Name)
	}
	return err
}

// when is an error where bad is true, else nil.
func when(bad bool, format string, args ...any) error {
	if bad {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// perfAnalyzerVersion is the release of perf_analyzer that perf_analyzer mode behaves as.
const perfAnalyzerVersion = "2.60.0"

// VersionLine returns what --version prints, given redline's own version. Programs read perf_analyzer's line; ours
// stands below it.
func VersionLine(program Program, version string) string {
	if program == PerfAnalyzer {
		return fmt.Sprintf("Perf Analyzer Version %s (commit unknown)\nredline %s", perfAnalyzerVersion, version)
	}
	return "redline " + version
}
