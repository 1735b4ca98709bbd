// Package rerun is `redline rerun`: it repeats the run of a result. Results of profile, llm, calibrate, simple and stress have the whole plan;
// those of find and tune have the options of their command line.
package rerun

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/calibrate"
	"github.com/redline-bench/redline/internal/command/find"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/command/simple"
	"github.com/redline-bench/redline/internal/command/stress"
	"github.com/redline-bench/redline/internal/command/tune"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// Run is `redline rerun`.
func Run(p *command.IO, args []string) (int, error) {
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "--help"):
		return 0, option.ErrHelp
	case len(args) == 0 || args[0] == "" || args[0][0] == '-':
		return 0, command.Usage(errors.New("name a result first, as in redline rerun last"))
	}
	run, _, err := runs.Load(p, args[0])
	if err != nil {
		return 0, err
	}
	if err := keepResult(args[0], args[1:]); err != nil {
		return 0, err
	}
	if run.Command == "profile" && run.Plan != nil {
		pl, options, err := planOf(run.Plan, args[1:], p.Secrets)
		if err != nil {
			return 0, err
		}
		return profile.Repeat(p, pl, option.CommandLine("redline rerun "+option.ShellWord(args[0]), options))
	}
	switch run.Command {
	case calibrate.Grid:
		return calibrate.Run(p, args[1:])
	case calibrate.Profile:
		pl, _, err := planOf(run.Plan, args[1:], p.Secrets)
		if err != nil {
			return 0, err
		}
		return calibrate.RunPlan(p, pl)
	case calibrate.LLM:
		return calibrate.RunLLM(p, run.Plan.Own, args[1:])
	}
	line, hidden := commandLine(run.Options, args[1:])
	if err := complete(hidden, args[1:]); err != nil {
		return 0, err
	}
	switch {
	case run.Options == nil:
	case run.Command == "find":
		return find.Run(p, line)
	case run.Command == "tune":
		return tune.Run(p, line)
	case run.Plan == nil || run.Plan.Own == nil:
	case run.Command == "llm":
		return llm.Repeat(p, run.Plan.Own, args[1:], line)
	case run.Command == "simple":
		return simple.Repeat(p, run.Plan, args[1:], line)
	case run.Command == "stress":
		return stress.Repeat(p, run.Plan, args[1:], line)
	}
	return 0, fmt.Errorf("%s cannot be run again: it is no result of redline profile, llm, find, tune, calibrate, simple or stress", args[0])
}

// keepResult refuses options that name the result file itself: the new run would write over the first.
func keepResult(path string, args []string) error {
	result, missing := os.Stat(path) // a run of the history is no file
	for _, arg := range args {
		_, value, attached := strings.Cut(arg, "=")
		if !attached {
			value = arg
		}
		if other, err := os.Stat(value); missing == nil && err == nil && os.SameFile(result, other) {
			return fmt.Errorf("the new run would write over %s, which is the result to repeat: give another name", path)
		}
	}
	return nil
}

// Command describes the command.
func Command() option.Command {
	return option.Command{
		Exits:  []option.Exit{{Code: command.ExitError, Meaning: "the result cannot be read, or a secret of the first run is missing; the other codes are those of the first run's command"}},
		Common: []string{"url", "header", "json", "csv", "report", "assert", "baseline", "label", "quiet"},
		Rows:   (&changes{outcome: plan.DefaultOutcome()}).rows(),
		Intro: `Usage: redline rerun RESULT [options]

Repeats the run of a result: the same server, model, requests, load and measurement. RESULT is an id of redline
history, "last" or a label, of a run of 'redline profile', 'llm', 'find', 'tune', 'simple' or 'stress', or a file of
--json of the first five or of 'redline calibrate'. Paths are as they were given: start rerun in the folder of
the first run.

Files of the first run are not written again; name new ones. The label, --baseline and --max-regression are kept
unless given again; rules of --assert are added to those of the first run.

A result keeps no secrets. Give those of the first run again; the error line names what is missing.

The options below are for results of 'redline profile'. After other results all options of their command may
follow, and replace those of the first run; headers, fields of the body and rules are added.
`,
		Examples: `  redline rerun last --json again.json
      repeat the last run and write the result as JSON
  redline rerun monday.json -H "Authorization: Bearer $TOKEN"
      repeat a run whose requests had a secret header
  redline rerun last -u other-host:8001
      repeat the last run on another server
`,
	}
}
