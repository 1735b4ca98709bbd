package stress

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Rows are the options that set o.
func (o *Options) Rows() []option.Row {
	return slices.Concat(option.Group("Options", []option.Row{
		{Long: "verbose", Short: 'v', Repeat: true, Help: "print threads and patterns; twice: also every response", To: option.Count(&o.Verbose)},
		{Long: "random-seed", Short: 'r', Arg: "N", Default: "the time", Help: "seed of all random choices", To: option.Uint(&o.Seed, math.MaxUint32)},
		{Long: "concurrency", Short: 't', Arg: "N", Help: "number of threads", To: option.Int(&o.Threads, 1)},
		{Long: "iterations", Short: 'i', Arg: "N", Help: "number of patterns that each thread sends; 0 for no limit, with --duration", To: option.Int(&o.Iterations, 0)},
		{Long: "duration", Arg: "TIME", Help: "end after this time, such as 10m; without -i there is then no limit of patterns", To: option.Duration(&o.Duration)},
		{Long: "url", Short: 'u', Arg: "HOST:PORT", Default: "localhost:8001, localhost:8000 with HTTP", Help: "address or URL of the server", Secret: secret.URL, To: option.Text(&o.URL)},
		{Long: "model-name", Short: 'm', Arg: "NAME", Help: "name of the model; also accepted without -m", To: option.Text(&o.Model)},
		{Long: "model-version", Short: 'x', Arg: "VERSION", Help: "version of the model", To: option.Text(&o.Version)},
		{Long: "protocol", Arg: "NAME", Help: "protocol: gRPC or HTTP", To: option.OneOf(&o.Protocol, "gRPC", "HTTP")},
		{Long: "unary", Help: "gRPC: send each request as a call of its own instead of one stream per context", To: option.Switch(&o.Unary)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&o.Embedded)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the result as JSON, with the history of each failure", To: option.Text(&o.JSON)},
		{Long: "max-failures", Arg: "N", Help: "end after this many failures", To: option.Int(&o.MaxFailures, 1)},
		{Long: "replay", Arg: "T:N[,N]", Help: "send only these iterations of thread T; the last line of a failure prints the option", To: option.Func(func(v string) error {
			_, err := parseReplay(v, math.MaxInt32)
			o.Replay = v
			return err
		})},
	}), option.Group("Patterns", []option.Row{
		{Long: "weights", Arg: "LIST", Default: o.Weights.String(), Help: "shares of patterns in common contexts", To: option.Parsed(&o.Weights, ParseWeights)},
		{Long: "rare-weights", Arg: "LIST", Default: o.RareWeights.String(), Help: "shares of patterns in rare contexts", To: option.Parsed(&o.RareWeights, ParseWeights)},
		{Long: "rare", Arg: "SHARE", Help: "share of iterations that use a rare context", To: option.Float(&o.RareShare, 0, 1)},
		{Long: "common-contexts", Arg: "N", Help: "number of common contexts per thread", To: option.Int(&o.Common, 0)},
		{Long: "rare-contexts", Arg: "N", Help: "number of rare contexts per thread", To: option.Int(&o.Rare, 0)},
		{Long: "length-mean", Arg: "N", Help: "mean number of requests of a sequence", To: option.Float(&o.LengthMean, 0, 1e6)},
		{Long: "length-deviation", Arg: "N", Help: "standard deviation of the length of a sequence", To: option.Float(&o.LengthDev, 0, 1e6)},
		{Long: "values", Arg: "N", Help: "send input values below N", To: option.Int(&o.Values, 1)},
		{Long: "first-id", Arg: "N", Help: "first correlation id", To: option.Int(&o.FirstID, 1)},
		{Long: "id-block", Arg: "N", Help: "number of correlation ids reserved for each thread", To: option.Int(&o.IDBlock, 1)},
		{Long: "string-ids", Help: "send correlation ids as text", To: option.Switch(&o.StringIDs)},
		{Long: "timeout", Arg: "TIME", Help: "time limit for all responses of one pattern; 0 for no limit", To: option.Duration(&o.Timeout)},
	}), option.Group("Options that Triton's stress test does not have", []option.Row{
		{Long: "overlap", Arg: "N", Help: "number of sequences of a thread at once; more than the server has slots fills its backlog", To: option.Int(&o.Overlap, 1)},
		{Long: "back-to-back", Help: "do not wait between the two sequences of a pattern; for models that keep state by slot", To: option.Switch(&o.BackToBack)},
		{Long: "idle-time", Arg: "TIME", Help: "pause of the pattern idle; choose it longer than the server keeps an idle sequence", To: option.Duration(&o.IdleTime)},
		{Long: "cut", Arg: "TIME", Help: "cut a connection each time this interval has passed", To: option.Duration(&o.CutEvery)},
		{Long: "chaos", Arg: "TIME", Help: "unload the model, and load it again, each time this interval has passed", To: option.Duration(&o.Chaos)},
		{Long: "chaos-down", Arg: "TIME", Help: "time between unloading and loading the model", To: option.Duration(&o.ChaosDown)},
		{Long: "disturbed", Help: "another program disturbs the server: do not count broken and refused requests as failures", To: option.Switch(&o.Disturbed)},
		{Long: "connections", Arg: "N", Help: "number of gRPC connections; 0 for one per thread", To: option.Int(&o.Connections, 0)},
	}), o.Outcome.Rows())
}

// Parse reads a command line. The error is option.ErrHelp if help was asked for. now is the seed if none is given. The secrets
// of the command line go to secrets.
func Parse(args []string, now time.Time, secrets *secret.Set) (*Options, error) {
	o := Defaults()
	table := option.Table{Rows: o.Rows(), Secrets: secrets}
	rest, err := table.Parse(args)
	if err != nil {
		return nil, err
	}
	if o.Duration > 0 && !table.Given("iterations") {
		o.Iterations = 0
	}
	o.SeedSet = table.Given("random-seed")
	if len(rest) > 1 {
		return nil, table.Unexpected(rest[1], 1)
	}
	if len(rest) == 1 {
		o.Model = rest[0]
	}
	o.Given = append([]string{o.Model}, table.Arguments()...)
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
