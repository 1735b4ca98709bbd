package rerun

import (
	"errors"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// changes are what a command line adds to the plan of a result.
type changes struct {
	given   plan.Given
	output  plan.Output
	outcome plan.Outcome
}

func (c *changes) rows() []option.Row {
	return slices.Concat(option.Group("Secrets of the first run, and other addresses", []option.Row{
		{Long: "header", Short: 'H', Arg: "'NAME: VALUE'", Repeat: true, Help: "value of a header of the first run", Secret: secret.Header, To: option.Func(c.addHeader)},
		{Long: "request-parameter", Arg: "NAME:VALUE:TYPE", Repeat: true, Help: "value of a secret parameter of the first run", Secret: secret.Typed, To: option.Func(c.given.AddParameter)},
		{Long: "url", Short: 'u', Arg: "URL", Help: "address of the server, in place of the first run's", Secret: secret.URL, To: option.Text(&c.given.URL)},
		{Long: "endpoint", Arg: "PATH", Help: "openai: path of the requests, in place of the first run's", Secret: secret.URL, To: option.Text(&c.given.Endpoint)},
		{Long: "metrics-url", Arg: "URL", Help: "address of the server's metrics, in place of the first run's", Secret: secret.URL, To: option.Text(&c.given.MetricsURL)},
		{Long: "embedded-arg", Arg: "ARG", Repeat: true, Help: "argument for the embedded server; give all of the first run's", Secret: secret.Option, To: option.Append(&c.given.EmbeddedArgs)},
	}), option.Group("Files", []option.Row{
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result as JSON", To: option.Text(&c.output.ResultJSON)},
		{Long: "csv", Short: 'f', Arg: "FILE", Writes: true, Help: "write a CSV report with one row per level", To: option.Text(&c.output.CSV)},
		{Long: "profile-export-file", Arg: "FILE", Writes: true, Help: "write the times of every request as perf_analyzer's JSON", To: option.Text(&c.output.Export)},
	}), c.outcome.Rows())
}

func (c *changes) addHeader(v string) error {
	name, value, ok := strings.Cut(v, ":")
	if !ok {
		return errors.New("is 'NAME: VALUE'")
	}
	c.given.Headers = append(c.given.Headers, plan.Header{Name: name, Value: value})
	return nil
}

// planOf is the plan of a result with the secrets, the files and the outcome of a command line. options are those of the command
// line without secrets.
func planOf(written *plan.Plan, args []string, secrets *secret.Set) (p *plan.Plan, options []string, err error) {
	c := changes{outcome: written.Outcome.Again()}
	table := &option.Table{Rows: c.rows(), Secrets: secrets}
	if _, err := command.Parse(table, args, 0, 0, ""); err != nil {
		return nil, nil, err
	}
	c.outcome.Renew(table, &written.Outcome)
	c.output.VerboseCSV = written.Output.VerboseCSV
	if c.given.URL != "" {
		t := written.Target
		if err := kind.Of(t.Kind).Address(&t, c.given.URL); err != nil {
			return nil, nil, err
		}
		c.given.URL = t.URL
	}
	p, err = written.With(func(p *plan.Plan) { p.Output, p.Outcome = c.output, c.outcome }).Complete(c.given)
	return p, table.Arguments(), err
}
