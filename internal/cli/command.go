package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// command is one thing that redline does.
type command struct {
	name, summary string
	help          func() string
	// words are what completion offers behind the name; nil offers nothing, or for profile its own table.
	words func() []string
	// run does it and returns the exit code. The caller prints an error, and the help for optset.ErrHelp.
	run func(p *IO, args []string) (int, error)
}

// commands are all of them, in the order of help.
func commands() []command {
	return []command{
		{"profile", "load a server and report throughput, latency and failures", profileHelp, nil, own(runOwnProfile)},
		{"llm", "load a language model and measure it token by token", llmHelp, llmNames, own(runLLM)},
		{"calibrate", "measure how far this client's times are off, so that reports can state it", fixed(calibrateHelp), nil, own(runCalibrate)},
		{"simple", "one request after the other to a simple model: five numbers", simpleHelp, simpleNames, runSimple},
		{"stress", "send whole and broken sequences and check every answer", stressHelp, stressNames, runStress},
		{"compare", "say whether two runs differ, by how much and how surely", compareHelp, compareSet(new(compareOptions)).Names, runCompare},
		{"report", "write a run, or two beside each other, as an HTML page", reportHelp, reportSet(new(string)).Names, runReport},
		{"dash", "serve the kept runs as pages on this machine", dashHelp, dashSet(new(string)).Names, runDash},
		{"history", "list the runs that were kept", historyHelp, historySet(new(historyOptions)).Names, runHistory},
		{"tokenize", "turn texts into token ids, as a model's own tokenizer does", tokenizeHelp, tokenizeSet(new(tokenizeOptions)).Names, runTokenize},
		{"inspect", "say which models a server has, what one takes, and how to measure it", inspectHelp, inspectSet(new(inspectOptions)).Names, runInspect},
		{"doctor", "find what stands in the way of a good measurement on this machine", doctorHelp, doctorSet(new(doctorOptions)).Names, runDoctor},
		{"serve", "run the reference server, to try things out and to measure against", serveHelp, serveNames, runServe},
		{"version", "print the version of this program", fixed(versionHelp), nil, runVersion},
		{"completion", "print a completion script for a shell", fixed(completionHelp), flags.Shells, runCompletion},
		{"help", "explain a command", fixed(helpHelp), commandNames, runHelp},
	}
}

func find(name string) (command, bool) {
	list := commands()
	i := slices.IndexFunc(list, func(c command) bool { return c.name == name })
	if i < 0 {
		return command{}, false
	}
	return list[i], true
}

func noCommand(name string) error {
	return fmt.Errorf("there is no command %q: run 'redline help' for the list", name)
}

// usageError is a mistake in the arguments: the line that tells of it names the help.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// do runs the command and prints what it has to say at its end.
func (c command) do(p *IO, args []string) int {
	code, err := c.run(p, args)
	switch {
	case err == nil:
	case p.outClosed(): // what stays unsaid was not wanted
		return exitPipe
	case errors.Is(err, optset.ErrHelp):
		fmt.Fprint(p.Stdout, c.help())
		return exitOK
	case errors.As(err, new(usageError)):
		fmt.Fprintf(p.Stderr, "redline %s: %v; see redline %s --help\n", c.name, err, c.name)
	default:
		fmt.Fprintf(p.Stderr, "redline %s: %v\n", c.name, err)
	}
	return code
}

// own is for the commands that print their errors themselves.
func own(run func(p *IO, args []string) int) func(*IO, []string) (int, error) {
	return func(p *IO, args []string) (int, error) { return run(p, args), nil }
}

func fixed(text string) func() string { return func() string { return text } }

func runOwnProfile(p *IO, args []string) int {
	return runProfile(p, plan.Redline, "redline profile", args)
}

// parse reads the options of a small command, which takes from least to most arguments besides; want says which.
func parse(set *optset.Set, args []string, least, most int, want string) ([]string, error) {
	rest, err := set.Parse(args)
	switch {
	case err != nil:
		return nil, usageError{err}
	case most == 0 && len(rest) > 0:
		return nil, usageError{fmt.Errorf("unexpected argument %q", rest[0])}
	case len(rest) < least || len(rest) > most:
		return nil, usageError{errors.New(want)}
	}
	return rest, nil
}
