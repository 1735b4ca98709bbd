// Package attach is `redline attach`: it takes up a run of a fleet whose coordinator ended early.
package attach

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

type options struct {
	fleet   plan.Fleet
	given   plan.Given
	apiKey  string   // of redline llm
	extra   []string // fields of bodies of redline llm
	output  plan.Output
	outcome plan.Outcome
	collect bool
	drop    bool
}

func defaults() *options {
	return &options{fleet: plan.DefaultFleet(), outcome: plan.DefaultOutcome()}
}

func (o *options) rows() []option.Row {
	own := option.Group("Run", []option.Row{
		{Long: "collect", Help: "send nothing more: report the levels that are over, and the records of the level that was in progress", To: option.Switch(&o.collect)},
		{Long: "drop", Help: "remove what NATS keeps of the run", To: option.Switch(&o.drop)},
		{Long: "header", Short: 'H', Arg: "'NAME: VALUE'", Repeat: true, Help: "value of a secret header of the run", Secret: secret.Header, To: option.Func(o.addHeader)},
		{Long: "request-parameter", Arg: "NAME:VALUE:TYPE", Repeat: true, Help: "value of a secret parameter of a run of redline profile", Secret: secret.Typed, To: option.Func(o.given.AddParameter)},
		{Long: "url", Short: 'u', Arg: "URL", Help: "address of the server, in place of the run's", Secret: secret.URL, To: option.Text(&o.given.URL)},
		{Long: "endpoint", Arg: "PATH", Help: "path of the requests, in place of the run's", Secret: secret.URL, To: option.Text(&o.given.Endpoint)},
		{Long: "api-key", Arg: "KEY", Help: "API key of a run of redline llm", Secret: secret.Whole, To: option.Text(&o.apiKey)},
		{Long: "extra-inputs", Arg: "NAME:VALUE", Repeat: true, Help: "field with a secret in the requests of a run of redline llm", Secret: secret.Pair, To: option.Append(&o.extra)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result as JSON", To: option.Text(&o.output.ResultJSON)},
		{Long: "csv", Short: 'f', Arg: "FILE", Writes: true, Help: "redline profile: write a CSV report with one row per level", To: option.Text(&o.output.CSV)},
	})
	own = append(own, o.fleet.NATS.Rows("or embedded, where the run had a server in its process")...)
	return append(own, o.outcome.Rows()...)
}

func (o *options) addHeader(v string) error {
	name, value, ok := strings.Cut(v, ":")
	if !ok {
		return errors.New("is 'NAME: VALUE'")
	}
	o.given.Headers = append(o.given.Headers, plan.Header{Name: name, Value: strings.TrimSpace(value)})
	return nil
}

// Run is `redline attach`.
func Run(p *command.IO, args []string) (int, error) {
	o := defaults()
	table := &option.Table{Rows: o.rows(), Secrets: p.Secrets}
	rest, err := command.Parse(table, args, 1, 1, "name one run, as in redline attach nightly")
	if err != nil {
		return 0, err
	}
	o.fleet.Run = rest[0]
	if err := fleet.CheckRunName(o.fleet.Run); err != nil {
		return 0, command.Usage(err)
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	bus, err := coordinator.Open(sigs.Soft, p, o.fleet.NATS)
	if err != nil {
		return 0, err
	}
	before := *p // of the run, whose IO is made later
	before.Stderr = p.FoldedErr()
	conf := coordinator.Config(&before, fleet.Config{Fleet: o.fleet})
	if o.drop {
		defer bus.Close()
		return command.ExitOK, fleet.Drop(sigs.Soft, bus.Bus, conf)
	}
	run, err := fleet.Attach(sigs.Soft, bus.Bus, conf)
	if err != nil {
		bus.Close()
		return 0, err
	}
	line := option.CommandLine("redline attach "+o.fleet.Run, table.Arguments())
	if run.Command() == "llm" {
		return o.languageModel(p, sigs, line, bus, run)
	}
	pl, err := o.plan(run.Plan())
	if err != nil {
		run.Abandon(sigs.Soft)
		bus.Close()
		return 0, err
	}
	o.sayKnown(p, run)
	if o.collect {
		return profile.Collect(p, sigs, pl, line, bus, run)
	}
	return profile.TakeUp(p, sigs, pl, line, bus, run)
}

func (o *options) sayKnown(p *command.IO, run *fleet.Run) {
	fmt.Fprintf(p.FoldedErr(), "run %s: levels that were over when its coordinator ended: %d\n", o.fleet.Run, len(run.Known()))
}

// plan is the plan of the run with what the command line gives.
func (o *options) plan(written *plan.Plan) (*plan.Plan, error) {
	out := o.outcome
	out.Asserts, out.Label = slices.Concat(written.Outcome.Asserts, out.Asserts), cmp.Or(out.Label, written.Outcome.Label)
	pl := written.With(func(p *plan.Plan) { p.Output, p.Outcome, p.Fleet.NATS = o.output, out, o.fleet.NATS })
	if o.collect {
		return pl, nil // nothing is sent, so no secret is needed
	}
	return pl.Complete(o.given)
}

// Command describes the command.
func Command() option.Command {
	return option.Command{
		Common: []string{"nats", "nats-creds", "collect", "drop", "header", "url", "api-key", "json", "report", "assert"},
		Rows:   defaults().rows(),
		Exits:  []option.Exit{{Code: command.ExitError, Meaning: "there is no such run, or its coordinator is at work; the other codes are those of the run's command"}},
		Intro: `Usage: redline attach RUN [options]

Takes up a run of 'redline profile --workers' or 'redline llm --workers' whose coordinator ended early.
Levels that were over are kept; the level that was in progress is measured again, and the rest follows.
With --collect nothing more is sent, and the records that the workers had sent are reported.

Files that the run reads are sent to the workers again: start attach in the folder of the run. Secrets of
the run must be given again. Runs of 'redline find' and 'redline run' cannot be taken up, only removed.
`,
		Examples: `  redline attach nightly --nats nats://nats.example:4222
      go on with the run nightly
  redline attach nightly --collect --json nightly.json
      write what the run had measured
`,
	}
}
