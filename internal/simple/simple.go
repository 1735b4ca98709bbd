// Package simple replaces simple_perf_client.py, the simple client of Triton's QA: it sends a number of requests one after
// another and reports five numbers.
//
// It needs a model with one input and one output of variable last dimension, and sends zeros: a warm-up, then a fixed count.
// The engine and the services send the requests; this package holds the options, the check of the model, the exact latencies,
// and the report, whose words, number format and CSV are those of simple_perf_client.py because scripts read them.
package simple

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Options are the options of the command line.
type Options struct {
	Verbose     bool
	Model       string
	Version     string
	Batch       int
	Shape       int
	URL         string
	Protocol    plan.Protocol
	Count       int
	Warmup      int
	CSV         string
	Concurrency int
	Data        string // a JSON file or a folder; empty for zeros
	JSON        string
	Embedded    bool
	Outcome     plan.Outcome
	Given       []string // the options of the command line, as optset.Set.Arguments
}

// Defaults are those of simple_perf_client.py.
func Defaults() Options {
	return Options{Batch: 1, Shape: 1, Protocol: plan.HTTP, Count: 1000, Warmup: 500, Concurrency: 1, Outcome: plan.DefaultOutcome()}
}

// Rows are the options that set o.
func (o *Options) Rows() []option.Row {
	return slices.Concat(option.Group("Options", []option.Row{
		{Long: "verbose", Short: 'v', Help: "print details of the model, the requests and the results on standard error", To: option.Switch(&o.Verbose)},
		{Long: "model-name", Short: 'm', Arg: "NAME", Help: "name of the model; required", To: option.Text(&o.Model)},
		{Long: "model-version", Short: 'x', Arg: "VERSION", Default: "the latest", Help: "version of the model", To: option.Text(&o.Version)},
		{Long: "batch-size", Short: 'b', Arg: "N", Help: "inferences per request", To: option.Int(&o.Batch, math.MinInt)},
		{Long: "shape", Short: 's', Arg: "N", Help: "elements of the input's last dimension", To: option.Int(&o.Shape, math.MinInt)},
		{Long: "url", Short: 'u', Arg: "HOST:PORT", Default: "localhost:8000, localhost:8001 with gRPC", Help: "address of the server", Secret: secret.URL, To: option.Text(&o.URL)},
		{Long: "protocol", Short: 'i', Arg: "NAME", Help: "protocol: HTTP or gRPC", To: option.OneOf(&o.Protocol, "HTTP", "gRPC")},
		{Long: "iteration_count", Short: 'c', Also: "iteration-count", Arg: "N", Help: "number of requests to measure", To: option.Int(&o.Count, math.MinInt)},
		{Long: "warmup_count", Short: 'w', Also: "warmup-count", Arg: "N", Help: "number of warm-up requests before the measurement", To: option.Int(&o.Warmup, math.MinInt)},
		{Long: "csv", Arg: "FILE", Writes: true, Help: "also write the numbers as CSV, with latencies in microseconds", To: option.Text(&o.CSV)},
	}), option.Group("Options that Triton's simple client does not have", []option.Row{
		{Long: "concurrency", Arg: "N", Help: "number of requests in flight", To: option.Int(&o.Concurrency, 1)},
		{Long: "input-data", Arg: "FILE|DIR", Default: "zeros", Help: "input data, in the form that profile accepts", To: option.Text(&o.Data)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result, with client health and verdict, as JSON", To: option.Text(&o.JSON)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&o.Embedded)},
	}), o.Outcome.Rows())
}

// Parse reads a command line; its secrets go to secrets. The error is option.ErrHelp if help was asked for.
func Parse(args []string, secrets *secret.Set) (*Options, error) {
	o := Defaults()
	table := option.Table{Rows: o.Rows(), Secrets: secrets}
	rest, err := table.Parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, table.Unexpected(rest[0], 0)
	}
	o.Given = table.Arguments()
	o.Warmup = max(o.Warmup, 0) // the Python client takes a negative number for 0
	o.URL = cmp.Or(o.URL, o.Protocol.Address())
	return &o, nil
}

// Valid refuses numbers that are impossible for a run. It is not part of Parse because simple_perf_client.py accepts them as
// whole numbers and fails later, with another exit code.
func (o *Options) Valid() error {
	switch {
	case o.Count < 1:
		return fmt.Errorf("-c %d: at least one request must be measured", o.Count)
	case o.Count < o.Concurrency:
		return fmt.Errorf("-c %d is less than --concurrency %d", o.Count, o.Concurrency)
	case o.Batch < 0 || o.Shape < 0:
		return errors.New("negative dimensions are not allowed")
	case o.Batch == 0:
		return errors.New("-b 0: a request has at least one inference")
	}
	_, _, err := plan.Address(o.URL, o.Protocol, "v2")
	return err
}

// Plan is the run as a plan.
func (o *Options) Plan() (*plan.Plan, error) {
	p := plan.Default()
	t, in, m := &p.Target, &p.Input, &p.Measure
	t.Over(o.Protocol)
	t.Model, t.Version, t.Call = o.Model, o.Version, plan.Sync
	url, tls, err := plan.Address(o.URL, o.Protocol, "v2")
	if err != nil {
		return nil, err
	}
	t.URL, t.TLS.GRPC = url, tls
	p.Load.Concurrency.Start = o.Concurrency
	m.Window, m.RequestCount, m.MinRequests, m.WarmupCount, m.StopOnFailure = plan.CountWindows, o.Count, o.Count, o.Warmup, true
	in.Batch, in.BatchSet = o.Batch, true
	if o.Data == "" {
		in.Source, in.StringData = plan.Zero, "0" // simple_perf_client.py sends the text "0" for strings
		return plan.New(p)
	}
	in.Source, in.Paths = plan.JSONFiles, []string{o.Data}
	info, err := os.Stat(o.Data)
	if err != nil {
		return nil, fmt.Errorf("there is no file or folder %s for --input-data", o.Data)
	}
	if info.IsDir() {
		in.Source = plan.Directory
	}
	return plan.New(p)
}
