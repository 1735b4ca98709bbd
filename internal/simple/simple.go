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
	"strings"

	"github.com/redline-bench/redline/internal/optset"
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

// Set is the table of options that write to o.
func Set(o *Options) *optset.Set {
	s := &optset.Set{}
	s.Group("Options")
	s.Bool(&o.Verbose, "verbose,v", "print details of the model, the requests and the results on standard error")
	s.Text(&o.Model, "model-name,m", "NAME", "name of the model; required")
	s.Text(&o.Version, "model-version,x", "VERSION", "version of the model (default: the latest)")
	s.Int(&o.Batch, "batch-size,b", "N", math.MinInt, "inferences per request")
	s.Int(&o.Shape, "shape,s", "N", math.MinInt, "elements of the input's last dimension")
	s.Text(&o.URL, "url,u", "HOST:PORT", "address of the server (default: localhost:8000, with gRPC localhost:8001)")
	optset.OneOf(s, &o.Protocol, "protocol,i", "NAME", "protocol: HTTP or gRPC", "HTTP", "gRPC")
	s.Int(&o.Count, "iteration_count,c", "N", math.MinInt, "number of requests to measure")
	s.Int(&o.Warmup, "warmup_count,w", "N", math.MinInt, "number of warm-up requests before the measurement")
	s.Text(&o.CSV, "csv", "FILE", "also write the numbers as CSV, with latencies in microseconds")
	s.Group("Options that Triton's simple client does not have")
	s.Int(&o.Concurrency, "concurrency", "N", 1, "number of requests in flight")
	s.Text(&o.Data, "input-data", "FILE|FOLDER", "input data, in the form that profile accepts (default: zeros)")
	s.Text(&o.JSON, "json", "FILE", "write the whole result, with client health and verdict, as JSON")
	s.Bool(&o.Embedded, "embedded", "start the reference server for this run")
	o.Outcome.AddOptions(s)
	s.Secret(secret.URL, "url")
	return s
}

// Parse reads a command line, whose secrets go to secrets. The error is optset.ErrHelp when help was requested.
func Parse(args []string, secrets *secret.Set) (*Options, error) {
	o := Defaults()
	spelled := make([]string, len(args))
	for i, a := range args {
		a = strings.Replace(a, "--iteration-count", "--iteration_count", 1)
		spelled[i] = strings.Replace(a, "--warmup-count", "--warmup_count", 1)
	}
	set := Set(&o)
	set.Secrets = secrets
	rest, err := set.Parse(spelled)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, fmt.Errorf("unexpected argument %q", rest[0])
	}
	o.Given = set.Arguments()
	o.Warmup = max(o.Warmup, 0) // as in simple_perf_client.py
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
	case o.Protocol == plan.GRPC && strings.Contains(o.URL, "://"):
		return fmt.Errorf("-u %s: the url of a gRPC server should not include the scheme", o.URL)
	}
	return nil
}

// Plan is the run as a plan.
func (o *Options) Plan() (*plan.Plan, error) {
	p := plan.Default()
	t, in, m := &p.Target, &p.Input, &p.Measure
	t.Over(o.Protocol)
	t.Model, t.Version, t.URL, t.Call = o.Model, o.Version, o.URL, plan.Sync
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
