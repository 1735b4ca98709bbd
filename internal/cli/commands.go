package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/calibrate"
	"github.com/redline-bench/redline/internal/command/doctor"
	"github.com/redline-bench/redline/internal/command/inspect"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/rerun"
	"github.com/redline-bench/redline/internal/command/results"
	"github.com/redline-bench/redline/internal/command/serve"
	"github.com/redline-bench/redline/internal/command/simple"
	"github.com/redline-bench/redline/internal/command/stress"
	"github.com/redline-bench/redline/internal/command/tokenize"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// row is one command: a thing that redline does.
type row struct {
	name, summary string
	help          func() string
	// words are what completion offers behind the name; nil offers nothing, or for profile its own table.
	words func() []string
	// run does it and returns the exit code. The caller prints an error, and the help for optset.ErrHelp. With an error the
	// code 0 stands for command.ExitError.
	run func(p *command.IO, args []string) (int, error)
}

// commands are all of them, in the order of help.
func commands() []row {
	return []row{
		{"profile", "load a server and report throughput, latency and failures", profile.Help, nil, profile.Run},
		{"llm", "load a language model and measure it token by token", llm.Help, llm.Names, llm.Run},
		{"calibrate", "measure how far this client's times are off, so that reports can state it", calibrate.Help, nil, calibrate.Run},
		{"simple", "one request after the other to a simple model: five numbers", simple.Help, simple.Names, simple.Run},
		{"stress", "send whole and broken sequences and check every answer", stress.Help, stress.Names, stress.Run},
		{"compare", "say whether two runs differ, by how much and how surely", results.CompareHelp, results.CompareNames, results.Compare},
		{"report", "write a run, or two beside each other, as an HTML page", results.ReportHelp, results.ReportNames, results.Report},
		{"dash", "serve the kept runs as pages on this machine", results.DashHelp, results.DashNames, results.Dash},
		{"rerun", "run the plan of a result again", rerun.Help, rerun.Names, rerun.Run},
		{"history", "list the runs that were kept", results.HistoryHelp, results.HistoryNames, results.History},
		{"tokenize", "turn texts into token ids, as a model's own tokenizer does", tokenize.Help, tokenize.Names, tokenize.Run},
		{"inspect", "say which models a server has, what one takes, and how to measure it", inspect.Help, inspect.Names, inspect.Run},
		{"doctor", "find what stands in the way of a good measurement on this machine", doctor.Help, doctor.Names, doctor.Run},
		{"serve", "run the reference server, to try things out and to measure against", serve.Help, serve.Names, serve.Run},
		{"version", "print the version of this program", fixed(versionHelp), nil, runVersion},
		{"completion", "print a completion script for a shell", fixed(completionHelp), flags.Shells, runCompletion},
		{"help", "explain a command", fixed(helpHelp), commandNames, runHelp},
	}
}

func find(name string) (row, bool) {
	list := commands()
	i := slices.IndexFunc(list, func(c row) bool { return c.name == name })
	if i < 0 {
		return row{}, false
	}
	return list[i], true
}

func noCommand(name string) error {
	return fmt.Errorf("there is no command %q: run 'redline help' for the list", name)
}

// do runs the command and prints what it has to say at its end.
func (c row) do(p *command.IO, args []string) int {
	code, err := c.run(p, args)
	native, handover := errors.AsType[command.NativeError](err)
	switch {
	case err == nil:
	case handover:
		return handOver(p, string(native))
	case outClosed(p): // what stays unsaid was not wanted
		return command.ExitPipe
	case errors.Is(err, optset.ErrHelp):
		fmt.Fprint(p.Stdout, c.help())
		return command.ExitOK
	case errors.As(err, new(command.UsageError)):
		fmt.Fprintf(p.Stderr, "redline %s: %v; see redline %s --help\n", c.name, err, c.name)
	default:
		fmt.Fprintf(p.Stderr, "redline %s: %v\n", c.name, err)
	}
	if err != nil && code == command.ExitOK {
		return command.ExitError
	}
	return code
}

func fixed(text string) func() string { return func() string { return text } }
