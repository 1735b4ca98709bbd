package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/tune"
)

// options are the options of `redline tune` itself. All others belong to profile or llm.
type options struct {
	slo        []string
	vary       []string
	weights    []float64
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
	return &options{budget: 10 * time.Minute, probe: time.Second, confirm: 20 * time.Second, resolution: 0.05, ready: 2 * time.Minute}
}

func (o *options) rows() []option.Row {
	return slices.Concat(option.Group("Objectives", []option.Row{
		{Long: "slo", Arg: "RULE", Repeat: true, Help: "objective that must hold: 'p99<50ms', 'error_rate<0.1%', 'ttft.p99<200ms'; the rules are those of --assert", To: option.Append(&o.slo).In("ms")},
	}), option.Group("Space", []option.Row{
		{Long: "vary", Arg: "KNOB=VALUES", Repeat: true, Default: "from the model's configuration", Help: "setting to vary and its values, such as instances=1..4, max_batch=1,2,4..64 or queue_delay=0,100us..2ms (a number without a unit is in microseconds). " +
			"Server: instances, max_batch, queue_delay, preferred; STEP.instances for one step of an ensemble. Client: batch, shape, protocol, shared-memory. Other names need --apply", To: option.Append(&o.vary)},
		{Long: "weights", Arg: "N,N,...", Help: "tune the models of several -m together: shares of the load in the order of -m, such as 3,1. Without it each model is tuned in turn", To: option.Parsed(&o.weights, parseWeights)},
		{Long: "apply", Arg: "COMMAND", Help: "shell command that applies a candidate, such as 'restart.sh {max_num_seqs}'; {NAME} is the value of --vary NAME", To: option.Text(&o.apply)},
		{Long: "restore", Arg: "COMMAND", Help: "shell command that undoes --apply at the end", To: option.Text(&o.restore)},
		{Long: "ready-timeout", Arg: "TIME", Help: "how long a candidate may take to load or to become ready", To: option.Time(&o.ready, time.Second)},
	}), option.Group("Search", []option.Row{
		{Long: "budget", Arg: "TIME", Help: "time of all measurements together; 0 for no limit", To: option.Time(&o.budget, time.Second)},
		{Long: "probe", Arg: "TIME", Default: "1s, longer for slow responses", Help: "measured time of the shortest probes; more thorough ones are multiples of it", To: option.Time(&o.probe, time.Second)},
		{Long: "confirm", Arg: "TIME", Help: "duration of the confirmation of a capacity", To: option.Time(&o.confirm, time.Second)},
		{Long: "resolution", Arg: "PCT", Help: "relative difference of two capacities that counts", To: option.Percent(&o.resolution, 50)},
		{Long: "seed", Arg: "N", Default: "0", Help: "seed of the sample of a large space", To: option.Uint(&o.seed, math.MaxUint64)},
		{Long: "resume", Help: "use the measurements of the last search with the same server, model, traffic and objectives", To: option.Switch(&o.resume)},
	}), option.Group("Output", []option.Row{
		{Long: "best-config", Arg: "FILE", Writes: true, Help: "file for the config.pbtxt of the best candidate; of an ensemble or several models, a folder with MODEL/config.pbtxt", To: option.Text(&o.config)},
		{Long: "csv", Arg: "FILE", Writes: true, Help: "file for a table of all candidates with Model Analyzer's column names", To: option.Text(&o.csv)},
	}))
}

// check looks for what does not fit together. objectives: there are others besides those of --slo.
func (o *options) check(objectives bool) error {
	switch {
	case len(o.slo) == 0 && !objectives:
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

// objectives are the rules that must hold together. If several models get the load together, each rule holds for every one of them,
// 'MODEL: RULE' is a rule for one, and classes of a scenario have rules of their own.
func (o *options) objectives(together []share) ([]find.Tier, error) {
	tier := find.Tier{Name: "slo"}
	for _, text := range o.slo {
		about, rule := together, text
		if head, tail, ok := strings.Cut(text, ":"); ok {
			if i := slices.IndexFunc(together, func(s share) bool { return s.name == strings.TrimSpace(head) }); i >= 0 {
				about, rule = together[i:i+1], strings.TrimSpace(tail)
			}
		}
		r, err := gate.Parse(rule)
		if err != nil {
			return nil, fmt.Errorf("--slo: %w", err)
		}
		for i := range about {
			tier.Objectives = append(tier.Objectives, about[i].rule(r))
		}
		if len(together) == 0 {
			tier.Objectives = append(tier.Objectives, r)
		}
	}
	for i := range together {
		for _, r := range together[i].objectives {
			tier.Objectives = append(tier.Objectives, together[i].rule(r))
		}
	}
	return []find.Tier{tier}, nil
}

// rule is a rule for this one alone.
func (s *share) rule(r gate.Rule) gate.Rule {
	r.Class, r.Text = s.name, s.name+": "+r.Text
	return r
}

// parseWeights reads numbers above 0 with commas between them.
func parseWeights(text string) ([]float64, error) {
	var list []float64
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("is a list of numbers above 0, such as 3,1, not %q", text)
		}
		list = append(list, v)
	}
	return list, nil
}
