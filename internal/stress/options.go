package stress

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Set is the table of options that write to o.
func Set(o *Options) *optset.Set {
	s := &optset.Set{}
	s.Group("Options")
	s.Var("verbose,v", "", "", "print threads and patterns; twice: also every response", func(string) error { o.Verbose++; return nil })
	s.Var("random-seed,r", "N", "", "seed of all random choices (default: the current time)", func(v string) error { return setSeed(o, v) })
	s.Int(&o.Threads, "concurrency,t", "N", 1, "number of threads")
	s.Int(&o.Iterations, "iterations,i", "N", 0, "number of patterns that each thread sends; 0 for no limit, with --duration")
	s.Duration(&o.Duration, "duration", "TIME", "end after this time, such as 10m; -i then has no default")
	s.Text(&o.URL, "url,u", "HOST:PORT", "address or URL of the server (default: localhost:8001, with HTTP localhost:8000)")
	s.Text(&o.Model, "model-name,m", "NAME", "name of the model; also accepted without -m")
	s.Text(&o.Version, "model-version,x", "VERSION", "version of the model")
	optset.OneOf(s, &o.Protocol, "protocol", "NAME", "protocol: gRPC or HTTP", "gRPC", "HTTP")
	s.Bool(&o.Unary, "unary", "gRPC: send each request as a call of its own instead of one stream per context")
	s.Bool(&o.Embedded, "embedded", "start the reference server for this run")
	s.Text(&o.JSON, "json", "FILE", "write the result as JSON, with the history of each failure")
	s.Int(&o.MaxFailures, "max-failures", "N", 1, "end after this many failures")
	s.Var("replay", "T:N[,N]", "", "send only these iterations of thread T; the last line of a failure prints the option", func(v string) error {
		_, err := parseReplay(v, math.MaxInt32)
		o.Replay = v
		return err
	})
	s.Group("Patterns")
	weights(s, &o.Weights, "weights", "shares of patterns in common contexts")
	weights(s, &o.RareWeights, "rare-weights", "shares of patterns in rare contexts")
	s.Float(&o.RareShare, "rare", "SHARE", 0, 1, "share of iterations that use a rare context")
	s.Int(&o.Common, "common-contexts", "N", 0, "number of common contexts per thread")
	s.Int(&o.Rare, "rare-contexts", "N", 0, "number of rare contexts per thread")
	s.Float(&o.LengthMean, "length-mean", "N", 0, 1e6, "mean number of requests of a sequence")
	s.Float(&o.LengthDev, "length-deviation", "N", 0, 1e6, "standard deviation of the length of a sequence")
	s.Int(&o.Values, "values", "N", 1, "send input values below N")
	s.Int(&o.FirstID, "first-id", "N", 1, "first correlation id")
	s.Int(&o.IDBlock, "id-block", "N", 1, "number of correlation ids reserved for each thread")
	s.Bool(&o.StringIDs, "string-ids", "send correlation ids as text")
	s.Duration(&o.Timeout, "timeout", "TIME", "time limit for all responses of one pattern; 0 for no limit")
	s.Group("Options that Triton's stress test does not have")
	s.Int(&o.Overlap, "overlap", "N", 1, "number of sequences of a thread at once; more than the server has slots fills its backlog")
	s.Bool(&o.BackToBack, "back-to-back", "do not wait between the two sequences of a pattern; for models that keep state by slot")
	s.Duration(&o.IdleTime, "idle-time", "TIME", "pause of the pattern idle; choose it longer than the server keeps an idle sequence")
	s.Duration(&o.CutEvery, "cut", "TIME", "cut a connection each time this interval has passed")
	s.Duration(&o.Chaos, "chaos", "TIME", "unload the model, and load it again, each time this interval has passed")
	s.Duration(&o.ChaosDown, "chaos-down", "TIME", "time between unloading and loading the model")
	s.Bool(&o.Disturbed, "disturbed", "another program disturbs the server: do not count broken and refused requests as failures")
	s.Int(&o.Connections, "connections", "N", 0, "number of gRPC connections; 0 for one per thread")
	o.Outcome.AddOptions(s)
	s.Secret(secret.URL, "url")
	return s
}

func weights(s *optset.Set, to *Weights, name, help string) {
	s.Var(name, "LIST", to.String(), help, func(v string) error {
		w, err := ParseWeights(v)
		*to = w
		return err
	})
}

func setSeed(o *Options, v string) error {
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil {
		return fmt.Errorf("is a whole number from 0 to %d, not %q", uint32(math.MaxUint32), v)
	}
	o.Seed, o.SeedSet = uint32(n), true
	return nil
}

// Parse reads a command line. The error is optset.ErrHelp when help was requested. now gives a seed where none is
// given. The secrets of the command line go to secrets.
func Parse(args []string, now time.Time, secrets *secret.Set) (*Options, error) {
	o := Defaults()
	o.Iterations = -1
	set := Set(&o)
	set.Secrets = secrets
	rest, err := set.Parse(args)
	if err != nil {
		return nil, err
	}
	if o.Iterations < 0 {
		if o.Iterations = Defaults().Iterations; o.Duration > 0 {
			o.Iterations = 0
		}
	}
	if len(rest) > 1 {
		return nil, fmt.Errorf("unexpected argument %q", rest[1])
	}
	if len(rest) == 1 {
		o.Model = rest[0]
	}
	o.Given = append([]string{o.Model}, set.Arguments()...)
	if !o.SeedSet {
		o.Seed = uint32(now.Unix())
		o.Given = append(o.Given, fmt.Sprintf("--random-seed=%d", o.Seed))
	}
	if o.Server, err = parseAddress(cmp.Or(o.URL, o.Protocol.Address()), o.Protocol); err != nil {
		return nil, err
	}
	o.URL = o.Server.String()
	if o.Connections == 0 {
		o.Connections = o.Threads
	}
	return &o, o.check()
}

// check refuses what cannot go together.
func (o *Options) check() error {
	_, err := parseReplay(o.Replay, o.Threads)
	switch {
	case err != nil:
		return err
	case o.Iterations == 0 && o.Duration == 0:
		return errors.New("-i 0 has no end: give --duration too")
	case o.Contexts() == 0:
		return errors.New("there must be a context: --common-contexts or --rare-contexts")
	case o.Contexts() > o.IDBlock:
		return fmt.Errorf("%d contexts need as many correlation ids: raise --id-block above %d", o.Contexts(), o.IDBlock)
	case o.CutEvery > 0 && o.Server.Secure:
		return errors.New("--cut cannot be used with https")
	case o.Replay != "" && !o.SeedSet:
		return errors.New("--replay needs the seed of the run: -r N")
	case o.Values > math.MaxInt32:
		return fmt.Errorf("--values is at most %d", math.MaxInt32)
	case o.FirstID > math.MaxInt32 || o.IDBlock > math.MaxInt32:
		return fmt.Errorf("--first-id and --id-block are at most %d", math.MaxInt32)
	}
	return nil
}

// Plan is the run as a plan; at is the server, or what stands before it.
func (o *Options) Plan(at Address) (*plan.Plan, error) {
	p := plan.Default()
	t := &p.Target
	t.Over(o.Protocol)
	t.Model, t.Version, t.URL, t.Call, t.Connections = o.Model, o.Version, at.String(), plan.Async, o.Connections
	t.Streaming = o.Protocol == plan.GRPC && !o.Unary
	return plan.New(p)
}

// args are the options that decide what is sent and where, as a command line.
func (o *Options) args() []string {
	d := Defaults()
	args := []string{o.Model}
	if o.Embedded {
		args = append(args, "--embedded")
	} else {
		args = append(args, "-u", o.URL)
	}
	args = append(args, "-r", strconv.FormatUint(uint64(o.Seed), 10), "-t", strconv.Itoa(o.Threads))
	add := func(differs bool, name string, value any) {
		if differs {
			args = append(args, name, fmt.Sprint(value))
		}
	}
	add(o.Version != "", "-x", o.Version)
	add(o.Protocol != d.Protocol, "--protocol", o.Protocol)
	add(o.Weights != d.Weights, "--weights", o.Weights)
	add(o.RareWeights != d.RareWeights, "--rare-weights", o.RareWeights)
	add(o.RareShare != d.RareShare, "--rare", o.RareShare)
	add(o.Common != d.Common, "--common-contexts", o.Common)
	add(o.Rare != d.Rare, "--rare-contexts", o.Rare)
	add(o.LengthMean != d.LengthMean, "--length-mean", o.LengthMean)
	add(o.LengthDev != d.LengthDev, "--length-deviation", o.LengthDev)
	add(o.Values != d.Values, "--values", o.Values)
	add(o.FirstID != d.FirstID, "--first-id", o.FirstID)
	add(o.IDBlock != d.IDBlock, "--id-block", o.IDBlock)
	add(o.Timeout != d.Timeout, "--timeout", o.Timeout)
	add(o.IdleTime != d.IdleTime, "--idle-time", o.IdleTime)
	if o.Unary {
		args = append(args, "--unary")
	}
	if o.BackToBack {
		args = append(args, "--back-to-back")
	}
	if o.StringIDs {
		args = append(args, "--string-ids")
	}
	return args
}
