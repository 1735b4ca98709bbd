// Package simple replaces simple_perf_client.py, the simple client of Triton's QA: it sends a number of requests one after
// another and reports five numbers.
//
// It needs a model with one input and one output of variable last dimension, and sends zeros: a warm-up, then a fixed count.
// The engine and the services send the requests; this package holds the options, the check of the model, the exact latencies,
// and the report, whose words, number format and CSV are those of simple_perf_client.py because scripts read them.
package simple

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Plan is a run as one checked value. Options.Plan makes it, and nothing below reads an option.
type Plan struct {
	*plan.Plan `json:"-"`
	// Elements is the last dimension of the zeros that are sent. Only the server knows the name of the input.
	Elements int `json:"elements"`
	// Shaped: the plan has the whole shape of the input, in place of Elements.
	Shaped bool `json:"shaped,omitempty"`
}

// For is the plan of the requests for a model whose input has this name.
func (p Plan) For(input string) *plan.Plan {
	if p.Input.Source != plan.Zero || p.Shaped {
		return p.Plan
	}
	return p.With(func(c *plan.Plan) { c.Input.Shapes = map[string][]int64{input: {int64(p.Elements)}} })
}

// Options are a command line as it is read: the draft of a plan, and values that Plan turns into parts of it.
type Options struct {
	Draft    plan.Plan
	url      string
	protocol plan.Protocol
	verbose  bool
	elements int
	data     string // a JSON file or a folder; empty for zeros
	// Arguments are the options without secrets, as option.Table has them.
	Arguments []string
}

// Defaults are those of simple_perf_client.py.
func Defaults() *Options {
	o := &Options{Draft: plan.Default(), protocol: plan.HTTP, elements: 1}
	o.Draft.Measure.RequestCount, o.Draft.Measure.WarmupCount = 1000, 500
	return o
}

// Rows are the options that set o.
func (o *Options) Rows() []option.Row {
	d := &o.Draft
	return slices.Concat(option.Group("Options", []option.Row{
		{Long: "verbose", Short: 'v', Help: "print details of the model, the requests and the results on standard error", To: option.Switch(&o.verbose)},
		{Long: "model-name", Short: 'm', Arg: "NAME", Help: "name of the model; required", To: option.Text(&d.Target.Model)},
		{Long: "model-version", Short: 'x', Arg: "VERSION", Default: "the latest", Help: "version of the model", To: option.Text(&d.Target.Version)},
		{Long: "batch-size", Short: 'b', Arg: "N", Help: "inferences per request", To: option.Int(&d.Input.Batch, math.MinInt)},
		{Long: "shape", Short: 's', Arg: "N", Default: "1", Help: "elements of the input's last dimension; or NAME:DATATYPE:DIMENSIONS, if the server does not state the inputs of the model", To: option.Func(o.setShape)},
		{Long: "url", Short: 'u', Arg: "HOST:PORT", Default: "localhost:8000, localhost:8001 with gRPC", Help: "address of the server", Secret: secret.URL, To: option.Text(&o.url)},
		{Long: "protocol", Short: 'i', Arg: "NAME", Help: "protocol: HTTP or gRPC", To: option.OneOf(&o.protocol, "HTTP", "gRPC")},
		{Long: "iteration_count", Short: 'c', Also: "iteration-count", Arg: "N", Help: "number of requests to measure", To: option.Int(&d.Measure.RequestCount, math.MinInt)},
		{Long: "warmup_count", Short: 'w', Also: "warmup-count", Arg: "N", Help: "number of warm-up requests before the measurement", To: option.Int(&d.Measure.WarmupCount, math.MinInt)},
		{Long: "csv", Arg: "FILE", Writes: true, Help: "also write the numbers as CSV, with latencies in microseconds", To: option.Text(&d.Output.CSV)},
	}), option.Group("Options that Triton's simple client does not have", []option.Row{
		{Long: "concurrency", Arg: "N", Help: "number of requests in flight", To: option.Int(&d.Load.Concurrency.Start, 1)},
		{Long: "input-data", Arg: "FILE|DIR", Default: "zeros", Help: "input data, in the form that profile accepts", To: option.Text(&o.data)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result, with client health and verdict, as JSON", To: option.Text(&d.Output.ResultJSON)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&d.Target.Embedded)},
	}), d.Outcome.Rows())
}

// Again are the options of the run of a written plan.
func Again(written *plan.Plan) (*Options, error) {
	var own Plan
	if err := json.Unmarshal(written.Own, &own); err != nil {
		return nil, fmt.Errorf("the plan of the result cannot be read: %w", err)
	}
	o := &Options{Draft: *written, protocol: written.Target.Protocol, verbose: written.Verbose > 0, elements: own.Elements}
	d := &o.Draft
	if d.Output, d.Outcome, d.Own = (plan.Output{}), d.Outcome.Again(), nil; len(d.Input.Paths) > 0 {
		o.data = d.Input.Paths[0]
	}
	if !own.Shaped {
		d.Input.Shapes = nil
	}
	if d.Input.Paths = nil; !d.Target.Embedded {
		o.url = d.Target.URL
	}
	return o, nil
}

// setShape reads a number of elements, or the whole shape of an input.
func (o *Options) setShape(v string) error {
	if strings.Contains(v, ":") {
		return o.Draft.Input.AppendShape(v)
	}
	o.Draft.Input.Shapes, o.Draft.Input.Datatypes = nil, nil
	return option.Int(&o.elements, math.MinInt).Set(v)
}

// Parse reads a command line, which changes o; its secrets go to secrets. The error is option.ErrHelp if help was asked for.
func (o *Options) Parse(args []string, secrets *secret.Set) error {
	table, first := option.Table{Rows: o.Rows(), Secrets: secrets}, o.Draft.Outcome
	rest, err := table.Parse(args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return table.Unexpected(rest[0], 0)
	}
	o.Draft.Outcome.Renew(&table, &first)
	o.Arguments = table.Arguments()
	switch {
	case table.Given("url"):
		o.Draft.Target.Embedded = table.Given("embedded")
	case table.Given("protocol"): // its usual address
		o.url = ""
	}
	return nil
}

// Plan completes and checks the draft. It is not part of Parse because simple_perf_client.py accepts any whole numbers and fails
// later, with another exit code.
func (o *Options) Plan() (Plan, error) {
	d := o.Draft
	t, in, m := &d.Target, &d.Input, &d.Measure
	if err := o.valid(); err != nil {
		return Plan{}, err
	}
	t.Over(o.protocol)
	var err error
	if t.URL, t.TLS.GRPC, err = plan.Address(cmp.Or(o.url, t.URL), o.protocol, "v2"); err != nil {
		return Plan{}, err
	}
	t.Call, in.BatchSet = plan.Sync, true
	m.Window, m.MinRequests, m.StopOnFailure = plan.CountWindows, m.RequestCount, true
	m.WarmupCount = max(m.WarmupCount, 0) // the Python client takes a negative number for 0
	if o.verbose {
		d.Verbose = 1
	}
	in.Source, in.StringData = plan.Zero, "0" // simple_perf_client.py sends the text "0" for strings
	if o.data != "" {
		info, err := os.Stat(o.data)
		if err != nil {
			return Plan{}, fmt.Errorf("there is no file or folder %s for --input-data", o.data)
		}
		in.Source, in.StringData, in.Paths = plan.JSONFiles, "", []string{o.data}
		if info.IsDir() {
			in.Source = plan.Directory
		}
	}
	checked, err := plan.New(d)
	if err == nil {
		checked, err = checked.Complete(plan.Given{}) // a written plan lacks its secrets
	}
	return Plan{Plan: checked, Elements: o.elements, Shaped: len(in.Shapes) > 0}, err
}

// valid refuses numbers that are impossible for a run.
func (o *Options) valid() error {
	count, inFlight, batch := o.Draft.Measure.RequestCount, o.Draft.Load.Concurrency.Start, o.Draft.Input.Batch
	switch {
	case count < 1:
		return fmt.Errorf("-c %d: at least one request must be measured", count)
	case count < inFlight:
		return fmt.Errorf("-c %d is less than --concurrency %d", count, inFlight)
	case batch < 0 || o.elements < 0:
		return errors.New("negative dimensions are not allowed")
	case batch == 0:
		return errors.New("-b 0: a request has at least one inference")
	}
	return nil
}
