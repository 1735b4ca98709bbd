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

// row describes one command.
type row struct {
	name, summary string
	help          func() string
	// words lists the words that completion offers after the name. It is nil for commands without such words, and for
	// profile, whose options come from the table in pacompat/flags.
	words func() []string
	// run executes the command and returns the exit code. The caller prints the error, or the help for optset.ErrHelp.
	// With an error, code 0 means command.ExitError.
	run func(p *command.IO, args []string) (int, error)
}

// commands returns all commands in the order of the help.
func commands() []row {
	return []row{
		{"profile", "load a server and report throughput, latency and failures", profile.Help, nil, profile.Run},
		{"llm", "load a language model and measure it token by token", llm.Help, llm.Names, llm.Run},
		{"calibrate", "measure the error of this client's times, which later reports state", calibrate.Help, nil, calibrate.Run},
		{"simple", "send requests one after another to a simple model and print five numbers", simple.Help, simple.Names, simple.Run},
		{"stress", "send valid and invalid sequences to a model and check every response", stress.Help, stress.Names, stress.Run},
		{"compare", "compare two runs: how much they differ, and with what confidence", results.CompareHelp, results.CompareNames, results.Compare},
		{"report", "write one run, or two side by side, as an HTML page", results.ReportHelp, results.ReportNames, results.Report},
		{"dash", "show the runs of the history in a browser", results.DashHelp, results.DashNames, results.Dash},
		{"rerun", "repeat the run of a result", rerun.Help, rerun.Names, rerun.Run},
		{"history", "list the runs kept on this machine", results.HistoryHelp, results.HistoryNames, results.History},
		{"tokenize", "convert texts to token ids with a model's own tokenizer", tokenize.Help, tokenize.Names, tokenize.Run},
		{"inspect", "list a server's models, or describe one and print a command that measures it", inspect.Help, inspect.Names, inspect.Run},
		{"doctor", "check this machine for problems that would spoil a measurement", doctor.Help, doctor.Names, doctor.Run},
		{"serve", "run the reference server, for trials and tests", serve.Help, serve.Names, serve.Run},
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
	return fmt.Errorf("unknown command %q; run 'redline help' for the list", name)
}

// do runs the command and prints its error or help.
func (c row) do(p *command.IO, args []string) int {
	code, err := c.run(p, args)
	native, handover := errors.AsType[command.NativeError](err)
	switch {
	case err == nil:
	case handover:
		return handOver(p, string(native))
	case outClosed(p): // the reader of standard output has gone; it needs no message
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
