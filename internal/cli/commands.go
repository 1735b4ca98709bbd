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
	// alone: it is started under its own name.
	alone bool
}

// commands returns all commands in the order of the help.
func commands() []row {
	return []row{
		{name: "profile", summary: "load a server and report throughput, latency and failures", about: profile.Command, run: profile.Run},
		{name: "llm", summary: "load a language model and measure it token by token", about: llm.Command, run: llm.Run},
		{name: "run", summary: "run a scenario file: several kinds of traffic at once, with stages", about: runscenario.Command, run: runscenario.Run},
		{name: "find", summary: "search for the highest load at which objectives hold", about: capacity.Command, run: capacity.Run},
		{name: "tune", summary: "search for the best configuration of a model, under objectives", about: tune.Command, run: tune.Run},
		{name: "worker", summary: "wait for runs with --workers and make a share of their load", about: worker.Command, run: worker.Run},
		{name: "attach", summary: "take up a run whose coordinator ended early", about: attach.Command, run: attach.Run},
		{name: "calibrate", summary: "measure the error of this client's times, which later reports state", about: calibrate.Command, run: calibrate.Run},
		{name: "simple", summary: "send one request at a time to a simple model and print five results", about: simple.Command, run: simple.Run},
		{name: "stress", summary: "send valid and invalid sequences to a model and check every response", about: stress.Command, run: stress.Run},
		{name: "compare", summary: "compare two runs: how much they differ, and with what confidence", about: results.CompareCommand, run: results.Compare},
		{name: "report", summary: "write one run, or two side by side, as an HTML page", about: results.ReportCommand, run: results.Report},
		{name: "dash", summary: "show the saved runs in a browser", about: results.DashCommand, run: results.Dash},
		{name: "rerun", summary: "repeat the run of a result", about: rerun.Command, run: rerun.Run},
		{name: "history", summary: "list the runs saved on this machine", about: results.HistoryCommand, run: results.History},
		{name: "tokenize", summary: "convert texts to token ids with a model's own tokenizer", about: tokenize.Command, run: tokenize.Run},
		{name: "analyze-trace", summary: "describe how the requests of a trace share prefixes", about: trace.AnalyzeCommand, run: trace.Analyze},
		{name: "synthesize-trace", summary: "write a trace with other prefixes, lengths or times", about: trace.SynthesizeCommand, run: trace.Synthesize},
		{name: "inspect", summary: "list a server's models, or describe one and print a command that measures it", about: inspect.Command, run: inspect.Run},
		{name: "doctor", summary: "check this machine for problems that would spoil a measurement", about: doctor.Command, run: doctor.Run},
		{name: "serve", summary: "start the reference server, a server for trials and tests", about: serve.Command, run: serve.Run},
		{name: "version", summary: "print the version of this program", about: aboutVersion, run: runVersion},
		{name: "completion", summary: "print a completion script for a shell", about: about(completionHelp, option.Shells()...), run: runCompletion},
		{name: "man", summary: "print the manual page of a command", about: aboutMan, run: runMan},
		{name: "help", summary: "explain a command or show how to do a task", about: aboutHelp, run: runHelp},
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
		fmt.Fprintf(p.FoldedErr(), "%s: %v\n", c.program(), err)
	case errors.As(err, new(command.UsageError)):
		fmt.Fprintf(p.FoldedErr(), "%s: %v; see %s --help\n", c.program(), err, c.program())
	default:
		fmt.Fprintf(p.FoldedErr(), "%s: %v\n", c.program(), err)
	}
	if err != nil && code == command.ExitOK {
		return command.ExitError
	}
	return code
}

// program is how the command is started.
func (c row) program() string {
	if c.alone {
		return c.name
	}
	return "redline " + c.name
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
