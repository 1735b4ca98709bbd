// Package simple is the small client of Triton's Python performance check: so many requests, one after the other,
// and five numbers.
//
// It asks for little on purpose: a model with one input and one output whose last dimension is free, zeros as data,
// a warm-up, a count. The requests themselves are made by the same engine and services as everywhere else; this
// package holds what is particular: the options, the check of the model, the exact latencies, and the text, which
// keeps the words, the numbers' form and the CSV of the original because scripts read them.
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

// Options are what the command line asks for.
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

// Defaults are the original's.
func Defaults() Options {
	return Options{Batch: 1, Shape: 1, Protocol: plan.HTTP, Count: 1000, Warmup: 500, Concurrency: 1, Outcome: plan.DefaultOutcome()}
}

// Set is the table of options that write to o.
func Set(o *Options) *optset.Set {
	s := &optset.Set{}
	s.Group("Options")
	s.Bool(&o.Verbose, "verbose,v", "say on standard error what is asked, sent and measured")
	s.Text(&o.Model, "model-name,m", "NAME", "the model; required")
	s.Text(&o.Version, "model-version,x", "VERSION", "its version; the latest unless given")
	s.Int(&o.Batch, "batch-size,b", "N", math.MinInt, "inferences in a request")
	s.Int(&o.Shape, "shape,s", "N", math.MinInt, "elements of the last dimension")
	s.Text(&o.URL, "url,u", "HOST:PORT", "the server; localhost:8000, and localhost:8001 with gRPC, unless given")
	optset.OneOf(s, &o.Protocol, "protocol,i", "NAME", "HTTP or gRPC", "HTTP", "gRPC")
	s.Int(&o.Count, "iteration_count,c", "N", math.MinInt, "requests to measure")
	s.Int(&o.Warmup, "warmup_count,w", "N", math.MinInt, "requests before that, which do not count")
	s.Text(&o.CSV, "csv", "FILE", "write the numbers as CSV too, latencies in microseconds")
	s.Group("Beyond the original")
	s.Int(&o.Concurrency, "concurrency", "N", 1, "requests in flight at a time")
	s.Text(&o.Data, "input-data", "FILE|FOLDER", "send this data, in the form that profile takes, and not zeros")
	s.Text(&o.JSON, "json", "FILE", "write the whole result, with the client's health and the verdict, as JSON")
	s.Bool(&o.Embedded, "embedded", "start the reference server for this run and measure that")
	o.Outcome.AddOptions(s)
	s.Secret(secret.URL, "url")
	return s
}

// Parse reads a command line, whose secrets go to secrets. The error is optset.ErrHelp when help was asked for.
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
	o.Warmup = max(o.Warmup, 0) // as the original, which counts up to it
	o.URL = cmp.Or(o.URL, o.Protocol.Address())
	return &o, nil
}

// Valid refuses numbers that no run can be made of. It is no part of Parse because the original takes them for
// whole numbers, as it should, and fails with them later: the exit code differs.
func (o *Options) Valid() error {
	switch {
	case o.Count < 1:
		return fmt.Errorf("-c %d: there must be a request to measure", o.Count)
	case o.Count < o.Concurrency:
		return fmt.Errorf("-c %d is less than --concurrency %d", o.Count, o.Concurrency)
	case o.Batch < 0 || o.Shape < 0:
		return errors.New("negative dimensions are not allowed")
	case o.Batch == 0:
		return errors.New("-b 0: a request holds at least one inference")
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
		in.Source, in.StringData = plan.Zero, "0" // the original sends the text "0" where elements are strings
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
