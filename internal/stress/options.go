package stress

import (
	"cmp"
	"encoding/json"
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

// Rows are the options that set p.
func (p *Plan) Rows() []option.Row {
	return slices.Concat(option.Group("Options", []option.Row{
		{Long: "verbose", Short: 'v', Repeat: true, Help: "print threads and patterns; twice: also every response", To: option.Count(&p.Verbose)},
		{Long: "random-seed", Short: 'r', Arg: "N", Default: "the time", Help: "seed of all random choices", To: option.Uint(&p.Seed, math.MaxUint32)},
		{Long: "concurrency", Short: 't', Arg: "N", Help: "number of threads", To: option.Int(&p.Threads, 1)},
		{Long: "iterations", Short: 'i', Arg: "N", Help: "number of patterns that each thread sends; 0 for no limit, with --duration", To: option.Int(&p.Iterations, 0)},
		{Long: "duration", Arg: "TIME", Help: "end after this time, such as 10m; without -i there is then no limit of patterns", To: option.Time(&p.Duration, time.Second)},
		{Long: "url", Short: 'u', Arg: "HOST:PORT", Default: "localhost:8001, localhost:8000 with HTTP", Help: "address or URL of the server", Secret: secret.URL, To: option.Text(&p.Target.URL)},
		{Long: "model-name", Short: 'm', Arg: "NAME", Help: "name of the model; also accepted without -m", To: option.Text(&p.Target.Model)},
		{Long: "model-version", Short: 'x', Arg: "VERSION", Help: "version of the model", To: option.Text(&p.Target.Version)},
		{Long: "protocol", Arg: "NAME", Help: "protocol: gRPC or HTTP", To: option.OneOf(&p.Target.Protocol, "gRPC", "HTTP")},
		{Long: "unary", Help: "gRPC: send each request as a call of its own instead of one stream per context", To: option.Switch(&p.Unary)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&p.Target.Embedded)},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the result as JSON, with the history of each failure", To: option.Text(&p.Output.ResultJSON)},
		{Long: "max-failures", Arg: "N", Help: "end after this many failures", To: option.Int(&p.MaxFailures, 1)},
		{Long: "replay", Arg: "T:N[,N]", Help: "send only these iterations of thread T; the last line of a failure prints the option", To: option.Func(func(v string) error {
			_, err := parseReplay(v, math.MaxInt32)
			p.Replay = v
			return err
		})},
	}), option.Group("Patterns", []option.Row{
		{Long: "weights", Arg: "LIST", Default: p.Weights.String(), Help: "shares of patterns in common contexts", To: option.Parsed(&p.Weights, ParseWeights)},
		{Long: "rare-weights", Arg: "LIST", Default: p.RareWeights.String(), Help: "shares of patterns in rare contexts", To: option.Parsed(&p.RareWeights, ParseWeights)},
		{Long: "rare", Arg: "SHARE", Help: "share of iterations that use a rare context", To: option.Float(&p.RareShare, 0, 1)},
		{Long: "common-contexts", Arg: "N", Help: "number of common contexts per thread", To: option.Int(&p.Common, 0)},
		{Long: "rare-contexts", Arg: "N", Help: "number of rare contexts per thread", To: option.Int(&p.Rare, 0)},
		{Long: "length-mean", Arg: "N", Help: "mean number of requests of a sequence", To: option.Float(&p.LengthMean, 0, 1e6)},
		{Long: "length-deviation", Arg: "N", Help: "standard deviation of the length of a sequence", To: option.Float(&p.LengthDev, 0, 1e6)},
		{Long: "values", Arg: "N", Help: "send input values below N", To: option.Int(&p.Values, 1)},
		{Long: "first-id", Arg: "N", Help: "first correlation id", To: option.Int(&p.FirstID, 1)},
		{Long: "id-block", Arg: "N", Help: "number of correlation ids reserved for each thread", To: option.Int(&p.IDBlock, 1)},
		{Long: "string-ids", Help: "send correlation ids as text", To: option.Switch(&p.StringIDs)},
		{Long: "timeout", Arg: "TIME", Help: "time limit for all responses of one pattern; 0 for no limit", To: option.Time(&p.Timeout, time.Second)},
	}), option.Group("Options that Triton's stress test does not have", []option.Row{
		{Long: "overlap", Arg: "N", Help: "number of sequences of a thread at once; more than the server has slots fills its backlog", To: option.Int(&p.Overlap, 1)},
		{Long: "back-to-back", Help: "do not wait between the two sequences of a pattern; for models that keep state by slot", To: option.Switch(&p.BackToBack)},
		{Long: "idle-time", Arg: "TIME", Help: "pause of the pattern idle; choose it longer than the server keeps an idle sequence", To: option.Time(&p.IdleTime, time.Second)},
		{Long: "cut", Arg: "TIME", Help: "cut a connection each time this interval has passed", To: option.Time(&p.CutEvery, time.Second)},
		{Long: "chaos", Arg: "TIME", Help: "unload the model, and load it again, each time this interval has passed", To: option.Time(&p.Chaos, time.Second)},
		{Long: "chaos-down", Arg: "TIME", Help: "time between unloading and loading the model", To: option.Time(&p.ChaosDown, time.Second)},
		{Long: "disturbed", Help: "another program disturbs the server: do not count broken and refused requests as failures", To: option.Switch(&p.Disturbed)},
		{Long: "connections", Arg: "N", Help: "number of gRPC connections; 0 for one per thread", To: option.Int(&p.Target.Connections, 0)},
	}), p.Outcome.Rows())
}

// Parse reads a command line. The error is option.ErrHelp if help was asked for. now is the seed if none is given. The secrets
// of the command line go to secrets.
func Parse(args []string, now time.Time, secrets *secret.Set) (*Plan, error) {
	p := Defaults()
	p.Seed = uint32(now.Unix())
	return p.parse(args, false, secrets)
}

// Again is the written plan of a run, changed by a command line.
func Again(written *plan.Plan, args []string, secrets *secret.Set) (*Plan, error) {
	p := &Plan{}
	if err := json.Unmarshal(written.Own, p); err != nil {
		return nil, fmt.Errorf("the plan of the result cannot be read: %w", err)
	}
	p.Plan = written.With(func(c *plan.Plan) {
		c.Output, c.Outcome, c.Own, c.Target.URL = plan.Output{}, c.Outcome.Again(), nil, ""
		if !c.Target.Embedded {
			c.Target.URL = p.Server.String()
		}
		if c.Target.Connections == p.Threads {
			c.Target.Connections = 0
		}
	})
	return p.parse(args, true, secrets)
}

// parse reads a command line, which changes p. seeded: p has a seed that the user chose.
func (p *Plan) parse(args []string, seeded bool, secrets *secret.Set) (*Plan, error) {
	table, first := option.Table{Rows: p.Rows(), Secrets: secrets}, p.Outcome
	rest, err := table.Parse(args)
	if err != nil {
		return nil, err
	}
	if len(rest) > 1 {
		return nil, table.Unexpected(rest[1], 1)
	}
	t := &p.Target
	if len(rest) == 1 {
		t.Model = rest[0]
	}
	p.Outcome.Renew(&table, &first)
	if table.Given("duration") && !table.Given("iterations") {
		p.Iterations = 0
	}
	switch {
	case table.Given("url"):
		t.Embedded = table.Given("embedded")
	case table.Given("protocol"): // its usual address
		t.URL = ""
	}
	p.Arguments = append([]string{t.Model}, table.Arguments()...)
	if seeded = seeded || table.Given("random-seed"); !seeded {
		p.Arguments = append(p.Arguments, fmt.Sprintf("--random-seed=%d", p.Seed))
	}
	if p.Server, err = parseAddress(cmp.Or(t.URL, t.Protocol.Address()), t.Protocol); err != nil {
		return nil, err
	}
	t.Over(t.Protocol)
	t.URL, t.Connections, t.Streaming = p.Server.String(), cmp.Or(t.Connections, p.Threads), t.Protocol == plan.GRPC && !p.Unary
	p.Verbose = min(p.Verbose, 2)
	if err := p.check(seeded); err != nil {
		return nil, err
	}
	if p.Plan, err = plan.New(*p.Plan); err == nil {
		p.Plan, err = p.Complete(plan.Given{}) // a written plan lacks its secrets
	}
	return p, err
}

// check refuses what cannot go together. seeded: the command line has a seed.
func (p *Plan) check(seeded bool) error {
	_, err := parseReplay(p.Replay, p.Threads)
	switch {
	case err != nil:
		return err
	case p.Iterations == 0 && p.Duration == 0:
		return errors.New("-i 0 has no end: give --duration too")
	case p.Contexts() == 0:
		return errors.New("there must be a context: --common-contexts or --rare-contexts")
	case p.Contexts() > p.IDBlock:
		return fmt.Errorf("%d contexts need as many correlation ids: raise --id-block above %d", p.Contexts(), p.IDBlock)
	case p.CutEvery > 0 && p.Server.Secure:
		return errors.New("--cut cannot be used with https")
	case p.Replay != "" && !seeded:
		return errors.New("--replay needs the seed of the run: -r N")
	case p.Values > math.MaxInt32:
		return fmt.Errorf("--values is at most %d", math.MaxInt32)
	case p.FirstID > math.MaxInt32 || p.IDBlock > math.MaxInt32:
		return fmt.Errorf("--first-id and --id-block are at most %d", math.MaxInt32)
	}
	return nil
}

// args are the options that decide what is sent and where, as a command line.
func (p *Plan) args() []string {
	d, t := Defaults(), &p.Target
	args := []string{t.Model}
	if t.Embedded {
		args = append(args, "--embedded")
	} else {
		args = append(args, "-u", p.Server.String())
	}
	args = append(args, "-r", strconv.FormatUint(uint64(p.Seed), 10), "-t", strconv.Itoa(p.Threads))
	for _, o := range []struct {
		name         string
		value, usual any
	}{
		{"-x", t.Version, ""},
		{"--protocol", t.Protocol, d.Target.Protocol},
		{"--weights", p.Weights, d.Weights},
		{"--rare-weights", p.RareWeights, d.RareWeights},
		{"--rare", p.RareShare, d.RareShare},
		{"--common-contexts", p.Common, d.Common},
		{"--rare-contexts", p.Rare, d.Rare},
		{"--length-mean", p.LengthMean, d.LengthMean},
		{"--length-deviation", p.LengthDev, d.LengthDev},
		{"--values", p.Values, d.Values},
		{"--first-id", p.FirstID, d.FirstID},
		{"--id-block", p.IDBlock, d.IDBlock},
		{"--timeout", p.Timeout, d.Timeout},
		{"--idle-time", p.IdleTime, d.IdleTime},
		{"--unary", p.Unary, false},
		{"--back-to-back", p.BackToBack, false},
		{"--string-ids", p.StringIDs, false},
	} {
		switch o.value {
		case o.usual:
		case true:
			args = append(args, o.name)
		default:
			args = append(args, o.name, fmt.Sprint(o.value))
		}
	}
	return args
}
