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
	"github.com/redline-bench/redline/internal/option"
)

// row describes one command.
type row struct {
	name, summary string
	// about describes its options.
	about func() option.Command
	// run executes the command and returns the exit code. The caller prints an error, and the help for option.ErrHelp. With an
	// error the code 0 stands for command.ExitError.
	run func(p *command.IO, args []string) (int, error)
}

// commands returns all commands in the order of the help.
func commands() []row {
	return []row{
		{"profile", "load a server and report throughput, latency and failures", profile.Command, profile.Run},
		{"llm", "load a language model and measure it token by token", llm.Command, llm.Run},
		{"calibrate", "measure how far this client's times are off, so that reports can state it", calibrate.Command, calibrate.Run},
		{"simple", "one request after the other to a simple model: five numbers", simple.Command, simple.Run},
		{"stress", "send whole and broken sequences and check every answer", stress.Command, stress.Run},
		{"compare", "say whether two runs differ, by how much and how surely", results.CompareCommand, results.Compare},
		{"report", "write a run, or two beside each other, as an HTML page", results.ReportCommand, results.Report},
		{"dash", "serve the kept runs as pages on this machine", results.DashCommand, results.Dash},
		{"rerun", "run the plan of a result again", rerun.Command, rerun.Run},
		{"history", "list the runs that were kept", results.HistoryCommand, results.History},
		{"tokenize", "turn texts into token ids, as a model's own tokenizer does", tokenize.Command, tokenize.Run},
		{"inspect", "say which models a server has, what one takes, and how to measure it", inspect.Command, inspect.Run},
		{"doctor", "find what stands in the way of a good measurement on this machine", doctor.Command, doctor.Run},
		{"serve", "run the reference server, to try things out and to measure against", serve.Command, serve.Run},
		{"version", "print the version of this program", about(versionHelp), runVersion},
		{"completion", "print a completion script for a shell", about(completionHelp, option.Shells()...), runCompletion},
		{"help", "explain a command", aboutHelp, runHelp},
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
	case errors.Is(err, option.ErrHelp):
		fmt.Fprint(p.Stdout, c.help(p))
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

// help is the help of the command for the user's terminal.
func (c row) help(p *command.IO) string {
	about := c.about()
	return about.Help(p.Columns())
}

// about describes a command without options.
func about(intro string, words ...string) func() option.Command {
	return func() option.Command { return option.Command{Intro: intro, Words: words} }
}

// described are all commands with their options.
func described() []option.Command {
	var list []option.Command
	for _, c := range commands() {
		about := c.about()
		about.Name, about.Summary = c.name, c.summary
		list = append(list, about)
	}
	return list
}
