package rerun

import (
	"errors"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// changes are what a command line adds to the plan of a result.
type changes struct {
	given   plan.Given
	output  plan.Output
	outcome plan.Outcome
}

func (c *changes) set() *optset.Set {
	s := &optset.Set{}
	s.Group("Secrets of the first run, and other addresses")
	s.Var("header,H", "'NAME: VALUE'", "", "value of a header of the first run; may be repeated", func(v string) error {
		name, value, ok := strings.Cut(v, ":")
		if !ok {
			return errors.New("is 'NAME: VALUE'")
		}
		c.given.Headers = append(c.given.Headers, plan.Header{Name: name, Value: value})
		return nil
	})
	s.Text(&c.given.URL, "url,u", "URL", "address of the server, in place of the first run's")
	s.Text(&c.given.Endpoint, "endpoint", "PATH", "openai: path of the requests, in place of the first run's")
	s.Text(&c.given.MetricsURL, "metrics-url", "URL", "address of the server's metrics, in place of the first run's")
	s.Var("embedded-arg", "ARG", "", "argument for the embedded server; give all of the first run's", func(v string) error {
		c.given.EmbeddedArgs = append(c.given.EmbeddedArgs, v)
		return nil
	})
	s.Secret(secret.Header, "header")
	s.Secret(secret.URL, "url", "endpoint", "metrics-url")
	s.Secret(secret.Option, "embedded-arg")
	s.Group("Files")
	s.Text(&c.output.ResultJSON, "json", "FILE", "write the whole result as JSON")
	s.Text(&c.output.CSV, "csv,f", "FILE", "write a CSV report, one row a level")
	s.Text(&c.output.Export, "profile-export-file", "FILE", "write every request's times as perf_analyzer's JSON")
	c.outcome.AddOptions(s)
	return s
}

// planOf is the plan of a result with the secrets, the files and the outcome of a command line.
func planOf(written *plan.Plan, args []string, secrets *secret.Set) (*plan.Plan, error) {
	var c changes
	s := c.set()
	s.Secrets = secrets
	if _, err := command.Parse(s, args, 0, 0, ""); err != nil {
		return nil, err
	}
	out, first := c.outcome, written.Outcome
	out.Asserts = append(slices.Clone(first.Asserts), out.Asserts...)
	if !s.Given("baseline") {
		out.Baseline = first.Baseline
	}
	if !s.Given("max-regression") {
		out.MaxRegression = first.MaxRegression
	}
	if !s.Given("label") {
		out.Label = first.Label
	}
	c.output.VerboseCSV = written.Output.VerboseCSV
	return written.With(func(p *plan.Plan) { p.Output, p.Outcome = c.output, out }).Complete(c.given)
}
