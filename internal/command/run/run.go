// Package run is `redline run`: it runs a scenario file. Each traffic class is a run of `redline profile` or `redline llm` with an
// engine of its own; all engines are in this process, or on the workers of a fleet, and begin to measure at the same time.
package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/segment"
)

// options are the options of the command.
type options struct {
	check, dry bool
	json       string
	segment    segment.Segment
	fleet      plan.Fleet
	outcome    plan.Outcome
}

func defaults() *options {
	return &options{fleet: plan.DefaultFleet(), outcome: plan.DefaultOutcome()}
}

func (o *options) rows() []option.Row {
	return slices.Concat(option.Group("Scenario", []option.Row{
		{Long: "check", Help: "check the file and its options, with line and column of each fault; contact no server", To: option.Switch(&o.check)},
		{Long: "dry-run", Help: "print the first request of each class as it would go on the wire; servers are asked for their models, and no inference is requested", To: option.Switch(&o.dry)},
		{Long: "segment", Arg: "NUMBER/COUNT", Help: "send one part of the load of each class: 2/5 is the second of five equal parts. Start all parts " +
			"with the same scenario, on several machines; together they send exactly the requests of one run without this option", To: option.Parsed(&o.segment, segment.Parse)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result as JSON: each class, and all of them together", To: option.Text(&o.json)},
		{Also: "vus iterations stage rps", Short: 'u', Instead: "is an option of k6; write the load into the scenario, as in 'rate: 50' and 'duration: 30s' of a class"},
		{Also: "duration", Short: 'd', Instead: "is written into the scenario, as 'duration: 30s' beside the rate"},
		{Also: "model url concurrency concurrency-range request-rate request-rate-range request-count", Short: 'm', Instead: "is an option of a class; write it into the scenario, under profile or llm of the class"},
	}), o.fleet.Rows(), o.outcome.Rows())
}

// Grammar is what a scenario file can contain.
func Grammar() *scenario.Grammar {
	o := defaults()
	outside := []string{"--check", "--dry-run"}
	return &scenario.Grammar{
		Run: slices.DeleteFunc(o.rows(), func(r option.Row) bool { return slices.Contains(outside, r.Name()) }),
		Commands: []scenario.Command{
			{Name: "profile", Rows: profile.Command().Rows, Seed: "seed", Arrivals: "request-distribution", Stages: "stages", Outside: profile.Outside()},
			{Name: "llm", Rows: llm.Command().Rows, Seed: "random-seed", Arrivals: "arrival-pattern", Stages: "stages", Outside: llm.Outside()},
		},
	}
}

// Run is `redline run`.
func Run(p *command.IO, args []string) (int, error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	table := &option.Table{Rows: defaults().rows(), Secrets: p.Secrets}
	files, err := command.Parse(table, args, 1, 1, "name one scenario file, as in redline run scenario.yaml")
	if err != nil {
		return 0, err
	}
	r := &run{IO: p, sigs: sigs, path: files[0], opts: defaults()}
	defer r.close()
	faults, err := r.read(args, option.CommandLine("redline run "+option.ShellWord(files[0]), table.Arguments()))
	if err != nil {
		return 0, err
	}
	if len(faults) > 0 {
		w := p.FoldedErr()
		for _, f := range faults {
			fmt.Fprintln(w, f)
		}
		return command.ExitError, nil
	}
	if r.opts.check {
		r.checked()
		return command.ExitOK, nil
	}
	// Answers are read and let go, so collecting often is cheap, and the program stays small beside the servers it loads.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	return r.start()
}

// read reads the file and makes the classes. Options of the command line come after those of the file.
func (r *run) read(args []string, line string) ([]scenario.Fault, error) {
	content, err := r.content()
	if err != nil {
		return nil, err
	}
	s, faults := scenario.Read(r.path, content, Grammar(), r.Getenv, r.Secrets.Add)
	if s == nil {
		return faults, nil
	}
	r.scenario, r.line = s, line
	if len(faults) > 0 { // what else is wrong is said too
		more, err := r.makeClasses()
		faults = append(faults, more...)
		scenario.SortFaults(faults)
		return faults, err
	}
	r.Secrets.Collect(secret.None, s.Name)
	for i := range s.Classes {
		r.Secrets.Collect(secret.None, s.Classes[i].Name)
	}
	table := &option.Table{Rows: r.opts.rows(), Secrets: r.Secrets}
	if _, err := command.Parse(table, append(scenario.Arguments(s.Options), args...), 1, 1, ""); err != nil {
		return nil, err
	}
	if err := r.opts.checkFleet(table); err != nil {
		return nil, command.Usage(err)
	}
	r.opts.outcome.Label = cmp.Or(r.opts.outcome.Label, s.Name)
	r.IO = r.IO.ForRun(r.opts.outcome, r.sigs) // before the classes, so that their warnings stand above the progress line
	return r.makeClasses()
}

// content is the text of the file; - is standard input.
func (r *run) content() ([]byte, error) {
	const most = 16 << 20
	switch filepath.Ext(r.path) {
	case ".js", ".ts", ".py", ".lua":
		return nil, fmt.Errorf("%s is a script, and a scenario is a YAML file: docs/scenarios.md describes it, and --save-scenario FILE of profile and llm writes one", r.path)
	}
	f := r.Stdin
	if r.path != "-" {
		file, err := os.Open(r.path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		f = file
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(content) > most {
		err = fmt.Errorf("%s has more than %d bytes: a scenario names files of data, and does not contain them", r.path, most)
	}
	return content, err
}

// makeClasses reads the options of each class, and the rules of all.
func (r *run) makeClasses() (faults []scenario.Fault, err error) {
	fault := func(at scenario.Position, err error) {
		faults = append(faults, scenario.Fault{Path: r.path, At: at, Text: err.Error()})
	}
	for i := range r.scenario.Classes {
		c := &r.scenario.Classes[i]
		if c.Command == nil {
			continue
		}
		m := &member{Class: c}
		wrong, err := r.parse(m)
		if err != nil {
			return nil, err
		}
		for _, e := range wrong {
			fault(c.Locate(e), e)
		}
		if len(wrong) == 0 && !c.Broken() {
			r.classes = append(r.classes, m)
		}
	}
	r.makeRules(fault)
	scenario.SortFaults(faults)
	return faults, nil
}

// parse reads the options of a class, and returns all that is wrong with them. Options with bad values are left out for the next look; what
// then does not fit together may follow from that, or from another fault of the class, and is not told.
func (r *run) parse(m *member) (wrong []error, err error) {
	args := m.Arguments()
	if part := r.opts.segment; !part.Whole() {
		args = append(args, "--segment="+part.String())
	}
	for {
		m.load, err = r.class(m, args)
		if errors.As(err, new(command.NativeError)) {
			return nil, err
		}
		bad := option.BadValue(err)
		if err == nil || (len(wrong) > 0 || m.Broken()) && !bad {
			return wrong, nil
		}
		wrong = append(wrong, each(err)...)
		fewer := m.Without(args, err)
		if !bad || len(fewer) == len(args) {
			return wrong, nil
		}
		args = fewer
	}
}

// class reads the options of a class.
func (r *run) class(m *member, args []string) (class.Class, error) {
	alone := len(r.scenario.Classes) == 1
	if m.Command.Name == "profile" {
		whole := &plan.Plan{Outcome: r.opts.outcome, Output: plan.Output{ResultJSON: r.opts.json}, Fleet: r.opts.fleet}
		return profile.ParseClass(m.quiet(r), r.sigs, args, whole, alone)
	}
	return llm.ParseClass(m.quiet(r), r.sigs, args, r.opts.fleet, alone)
}

// each are the errors that were joined into one.
func each(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: command.Exits(command.ExitOK, command.ExitUnstable, command.ExitNoRequests, command.ExitAssertion, command.ExitInvalid, command.ExitError, command.ExitInterrupted), Common: []string{
		"check", "dry-run", "json", "report", "dash", "server-metrics", "otlp", "assert", "baseline", "label", "workers", "nats",
	}, Rows: defaults().rows(), Intro: `Usage: redline run FILE [options]

Runs a scenario: traffic classes that load servers at the same time, each with its own server, requests and
rate. A class is a run of 'redline profile' or 'redline llm', and has the options of that command.
docs/scenarios.md is the manual; editors complete files with docs/schema/scenario.json. FILE - is standard input.
`, Examples: `  redline run scenario.yaml --check
      find mistakes before anything is sent
  redline run scenario.yaml --dry-run
      print the first request of each class
  redline run scenario.yaml --json result.json --report result.html
  redline run scenario.yaml --workers 3 --nats nats://nats.example:4222
      have three workers make the load of each class, an exact share each
  redline llm -m llama -u gpu:8000 --streaming --concurrency 4 --save-scenario llama.yaml
      save a run as a scenario
`}
}
