package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/attach"
	"github.com/redline-bench/redline/internal/command/calibrate"
	"github.com/redline-bench/redline/internal/command/doctor"
	capacity "github.com/redline-bench/redline/internal/command/find"
	"github.com/redline-bench/redline/internal/command/inspect"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/rerun"
	"github.com/redline-bench/redline/internal/command/results"
	runscenario "github.com/redline-bench/redline/internal/command/run"
	"github.com/redline-bench/redline/internal/command/serve"
	"github.com/redline-bench/redline/internal/command/simple"
	"github.com/redline-bench/redline/internal/command/stress"
	"github.com/redline-bench/redline/internal/command/tokenize"
	"github.com/redline-bench/redline/internal/command/trace"
	"github.com/redline-bench/redline/internal/command/tune"
	"github.com/redline-bench/redline/internal/command/worker"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
)

// row describes one command.
type row struct {
	name, summary string
	// about describes its options.
	about func() option.Command
	// run executes the command and returns the exit code. The caller prints the error, or the help for
	// option.ErrHelp. With an error, code 0 means command.ExitError.
	run func(p *command.IO, args []string) (int, error)
}

// commands returns all commands in the order of the help.
func commands() []row {
	return []row{
		{"profile", "load a server and report throughput, latency and failures", profile.Command, profile.Run},
		{"llm", "load a language model and measure it token by token", llm.Command, llm.Run},
		{"run", "run a scenario file: several kinds of traffic at once, with stages", runscenario.Command, runscenario.Run},
		{"find", "search for the highest load at which objectives hold", capacity.Command, capacity.Run},
		{"tune", "search for the best configuration of a model, under objectives", tune.Command, tune.Run},
		{"worker", "wait for runs with --workers and make a share of their load", worker.Command, worker.Run},
		{"attach", "take up a run whose coordinator ended early", attach.Command, attach.Run},
		{"calibrate", "measure the error of this client's times, which later reports state", calibrate.Command, calibrate.Run},
		{"simple", "send one request at a time to a simple model and print five results", simple.Command, simple.Run},
		{"stress", "send valid and invalid sequences to a model and check every response", stress.Command, stress.Run},
		{"compare", "compare two runs: how much they differ, and with what confidence", results.CompareCommand, results.Compare},
		{"report", "write one run, or two side by side, as an HTML page", results.ReportCommand, results.Report},
		{"dash", "show the saved runs in a browser", results.DashCommand, results.Dash},
		{"rerun", "repeat the run of a result", rerun.Command, rerun.Run},
		{"history", "list the runs saved on this machine", results.HistoryCommand, results.History},
		{"tokenize", "convert texts to token ids with a model's own tokenizer", tokenize.Command, tokenize.Run},
		{"analyze-trace", "describe how the requests of a trace share prefixes", trace.AnalyzeCommand, trace.Analyze},
		{"synthesize-trace", "write a trace with other prefixes, lengths or times", trace.SynthesizeCommand, trace.Synthesize},
		{"inspect", "list a server's models, or describe one and print a command that measures it", inspect.Command, inspect.Run},
		{"doctor", "check this machine for problems that would spoil a measurement", doctor.Command, doctor.Run},
		{"serve", "start the reference server, a server for trials and tests", serve.Command, serve.Run},
		{"version", "print the version of this program", aboutVersion, runVersion},
		{"completion", "print a completion script for a shell", about(completionHelp, option.Shells()...), runCompletion},
		{"man", "print the manual page of a command", aboutMan, runMan},
		{"help", "explain a command or show how to do a task", aboutHelp, runHelp},
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

// commandNames are the names of all commands.
func commandNames() []string { return convert.All(commands(), func(c row) string { return c.name }) }

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
		word := ""
		if e, ok := errors.AsType[*option.HelpError](err); ok {
			word = e.Word
		}
		if err = c.help(p, word); err == nil {
			return command.ExitOK
		}
		fmt.Fprintf(p.FoldedErr(), "redline %s: %v\n", c.name, err)
	case errors.As(err, new(command.UsageError)):
		fmt.Fprintf(p.FoldedErr(), "redline %s: %v; see redline %s --help\n", c.name, err, c.name)
	default:
		fmt.Fprintf(p.FoldedErr(), "redline %s: %v\n", c.name, err)
	}
	if err != nil && code == command.ExitOK {
		return command.ExitError
	}
	return code
}

// help prints help of the command for the user's terminal: the most used options, all of them, or those that are about a word.
func (c row) help(p *command.IO, word string) error {
	about := c.describe()
	var text string
	switch word {
	case "":
		text = about.Brief(p.Columns())
	case "all":
		text = about.Help(p.Columns())
	default:
		if text = about.About(word, p.Columns()); text == "" {
			return fmt.Errorf("no option is about %q; 'redline %s --help all' explains all of them", word, c.name)
		}
	}
	fmt.Fprint(p.Stdout, text)
	return nil
}

// describe is the description with the command's name.
func (c row) describe() option.Command {
	about := c.about()
	about.Name, about.Summary = c.name, c.summary
	return about
}

// about describes a command without options.
func about(intro string, words ...string) func() option.Command {
	return func() option.Command { return option.Command{Intro: intro, Words: words} }
}

// described are all commands with their options.
func described() []option.Command { return convert.All(commands(), row.describe) }
