// Package rerun is `redline rerun`: it runs the plan of a result again.
package rerun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Run is `redline rerun`.
func Run(p *command.IO, args []string) (int, error) {
	var o options
	set := o.set()
	set.Secrets = p.Secrets
	refs, err := command.Parse(set, args, 1, 1, "name one result, as in redline rerun last")
	if err != nil {
		return 0, err
	}
	run, _, err := runs.Load(p, refs[0])
	if err != nil {
		return 0, err
	}
	if run.Plan == nil || run.Command != "profile" {
		return 0, fmt.Errorf("%s is no result of redline profile: only those can be run again", refs[0])
	}
	pl, err := o.over(run.Plan, set.Given).Complete(o.given)
	if err != nil {
		return 0, err
	}
	return profile.Repeat(p, pl)
}

// Help explains the command.
func Help() string {
	return `Usage: redline rerun RESULT [options]

Runs the plan of a result again: the same server, model, requests, load and measurement. RESULT is an id of
redline history, "last", a label, or a file of --json, of 'redline profile'. Paths in the plan are as they were
given: start rerun in the folder of the first run.

Files of the first run are not written again. Name new ones. The rules of --assert and --baseline and the label
are kept unless other ones are given.

A result keeps no secrets. Give those of the first run again; the error line names what is missing.
` + new(options).set().Help() + `
Examples
  redline rerun last --json again.json
  redline rerun monday.json -H "Authorization: Bearer $TOKEN"
  redline rerun last -u other-host:8001
`
}

// Names are the options of the command.
func Names() []string { return new(options).set().Names() }

// options are what a command line adds to a plan.
type options struct {
	given   plan.Given
	output  plan.Output
	outcome plan.Outcome
}

func (o *options) set() *optset.Set {
	s := &optset.Set{}
	s.Group("Secrets of the first run, and other addresses")
	s.Var("header,H", "'NAME: VALUE'", "", "value of a header of the first run; may be repeated", func(v string) error {
		name, value, ok := strings.Cut(v, ":")
		if !ok {
			return errors.New("is 'NAME: VALUE'")
		}
		o.given.Headers = append(o.given.Headers, plan.Header{Name: name, Value: value})
		return nil
	})
	s.Text(&o.given.URL, "url,u", "URL", "address of the server, in place of the first run's")
	s.Text(&o.given.Endpoint, "endpoint", "PATH", "openai: path of the requests, in place of the first run's")
	s.Text(&o.given.MetricsURL, "metrics-url", "URL", "address of the server's metrics, in place of the first run's")
	s.Var("embedded-arg", "ARG", "", "argument for the embedded server; give all of the first run's", func(v string) error {
		o.given.EmbeddedArgs = append(o.given.EmbeddedArgs, v)
		return nil
	})
	s.Secret(secret.Header, "header")
	s.Secret(secret.URL, "url", "endpoint", "metrics-url")
	s.Secret(secret.Option, "embedded-arg")
	s.Group("Files")
	s.Text(&o.output.ResultJSON, "json", "FILE", "write the whole result as JSON")
	s.Text(&o.output.CSV, "csv,f", "FILE", "write a CSV report, one row a level")
	s.Text(&o.output.Export, "profile-export-file", "FILE", "write every request's times as perf_analyzer's JSON")
	o.outcome.AddOptions(s)
	return s
}

// over is a written plan with the files and the outcome of this command line.
func (o *options) over(p *plan.Plan, given func(option string) bool) *plan.Plan {
	out := o.outcome
	out.Asserts = append(slices.Clone(p.Outcome.Asserts), out.Asserts...)
	if !given("baseline") {
		out.Baseline = p.Outcome.Baseline
	}
	if !given("max-regression") {
		out.MaxRegression = p.Outcome.MaxRegression
	}
	if !given("label") {
		out.Label = p.Outcome.Label
	}
	return p.With(func(p *plan.Plan) {
		verbose := p.Output.VerboseCSV
		p.Output, p.Outcome = o.output, out
		p.Output.VerboseCSV = verbose
	})
}
