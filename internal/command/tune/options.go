package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/tune"
)

// options are the options of `redline tune` itself. All others belong to profile or llm.
type options struct {
	slo        []string
	vary       []string
	budget     time.Duration
	probe      time.Duration
	confirm    time.Duration
	resolution float64
	seed       uint64
	resume     bool
	apply      string
	restore    string
	ready      time.Duration
	config     string
	csv        string

	table  *option.Table
	varies []tune.Vary
}

func defaults() *options {
	return &options{budget: 10 * time.Minute, probe: time.Second, confirm: 20 * time.Second, resolution: 0.03, ready: 2 * time.Minute}
}

func (o *options) rows() []option.Row {
	return slices.Concat(option.Group("Objectives", []option.Row{
		{Long: "slo", Arg: "RULE", Repeat: true, Help: "objective that must hold: 'p99<50ms', 'error_rate<0.1%', 'ttft.p99<200ms'; the rules are those of --assert", To: option.Append(&o.slo)},
	}), option.Group("Space", []option.Row{
		{Long: "vary", Arg: "KNOB=VALUES", Repeat: true, Default: "from the model's configuration", Help: "setting to vary and its values, such as instances=1..4, max_batch=1,2,4..64 or queue_delay=0,100us..2ms. " +
			"Server: instances, max_batch, queue_delay, preferred; STEP.instances for one step of an ensemble. Client: batch, shape, protocol, shared-memory. Other names need --apply", To: option.Append(&o.vary)},
		{Long: "apply", Arg: "COMMAND", Help: "shell command that applies a candidate, such as 'restart.sh {max_num_seqs}'; {NAME} is the value of --vary NAME", To: option.Text(&o.apply)},
		{Long: "restore", Arg: "COMMAND", Help: "shell command that undoes --apply at the end", To: option.Text(&o.restore)},
		{Long: "ready-timeout", Arg: "TIME", Help: "how long a candidate may take to load or to become ready", To: option.Duration(&o.ready)},
	}), option.Group("Search", []option.Row{
		{Long: "budget", Arg: "TIME", Help: "time of all measurements together; 0 for no limit", To: option.Duration(&o.budget)},
		{Long: "probe", Arg: "TIME", Default: "1s, longer for slow responses", Help: "measured time of the shortest probes; more thorough ones are multiples of it", To: option.Duration(&o.probe)},
		{Long: "confirm", Arg: "TIME", Help: "duration of the confirmation of a capacity", To: option.Duration(&o.confirm)},
		{Long: "resolution", Arg: "PCT", Help: "relative difference of two capacities that counts", To: option.Percent(&o.resolution, 50)},
		{Long: "seed", Arg: "N", Default: "0", Help: "seed of the sample of a large space", To: option.Uint(&o.seed, math.MaxUint64)},
		{Long: "resume", Help: "use the measurements of the last search with the same server, model, traffic and objectives", To: option.Switch(&o.resume)},
	}), option.Group("Output", []option.Row{
		{Long: "best-config", Arg: "FILE", Writes: true, Help: "file for the config.pbtxt of the best candidate; of an ensemble, a folder with STEP/config.pbtxt", To: option.Text(&o.config)},
		{Long: "csv", Arg: "FILE", Writes: true, Help: "file for a table of all candidates with Model Analyzer's column names", To: option.Text(&o.csv)},
	}))
}

// read splits a command line into the options of tune, which it reads, and those of the command whose traffic is sent.
func read(args []string, secrets *secret.Set) (o *options, rest []string, err error) {
	o = defaults()
	o.table = &option.Table{Rows: o.rows(), Secrets: secrets}
	rest, err = search.Read(o.table, args)
	return o, rest, err
}

func (o *options) check() error {
	switch {
	case len(o.slo) == 0:
		return errors.New("no objective is given; add --slo with a rule such as 'p99<50ms'")
	case o.resolution <= 0:
		return errors.New("--resolution must be above 0")
	case o.probe <= 0 || o.confirm <= 0:
		return errors.New("--probe and --confirm must be longer than 0")
	case o.restore != "" && o.apply == "":
		return errors.New("--restore undoes --apply: give --apply too")
	}
	for _, text := range o.vary {
		v, err := tune.ParseVary(text)
		if err != nil {
			return fmt.Errorf("--vary %w", err)
		}
		if slices.ContainsFunc(o.varies, func(other tune.Vary) bool { return other.Name == v.Name }) {
			return fmt.Errorf("--vary %s is given twice: write all values in one list", v.Name)
		}
		o.varies = append(o.varies, v)
	}
	return nil
}

// objectives are the rules that must hold together.
func (o *options) objectives() ([]find.Tier, error) {
	t, err := find.ParseTier("slo", o.slo)
	if err != nil {
		return nil, fmt.Errorf("--slo: %w", err)
	}
	return []find.Tier{t}, nil
}
