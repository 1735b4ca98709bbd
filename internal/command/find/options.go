package find

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

// options are the options of `redline find` itself. All others belong to profile or llm.
type options struct {
	slo        []string
	tiers      []string
	by         string
	preset     string
	confirm    time.Duration
	lowest     float64
	highest    float64
	first      float64
	resolution float64
	settle     time.Duration
	probeMin   time.Duration
	probeMax   time.Duration
	budget     time.Duration

	table *option.Table
}

// The values of --by.
const (
	byRate        = "rate"
	byConcurrency = "concurrency"
	byUsers       = "users"
)

func defaults() *options {
	return &options{by: byRate, confirm: time.Minute, resolution: 0.02, budget: time.Hour}
}

func (o *options) rows() []option.Row {
	return slices.Concat(option.Group("Objectives", []option.Row{
		{Long: "slo", Arg: "RULE", Repeat: true, Help: "objective that must hold: 'p99<50ms', 'error_rate<0.1%', 'ttft.p99<200ms', 'goodput>=95%'; the rules are those of --assert", To: option.Append(&o.slo).In("ms")},
		{Long: "tier", Arg: "'NAME: RULE RULE'", Repeat: true, Help: "objectives of a tier with its own answer; tiers share their probes", To: option.Append(&o.tiers).In("ms")},
		{Long: "preset", Arg: "NAME", Help: "percentile, shortest time and smallest number of requests of an MLPerf-like scenario: " + strings.Join(presetNames(), ", ") + "; never an MLPerf result", To: option.OneOf(&o.preset, presetNames()...)},
	}), option.Group("Search", []option.Row{
		{Long: "by", Arg: "WHAT", Help: "load to search: rate (requests/s in open loop), concurrency (requests or conversations in flight) or users (llm: conversations with pauses)", To: option.OneOf(&o.by, byRate, byConcurrency, byUsers)},
		{Long: "lowest", Arg: "LOAD", Default: "1, or 10 requests in a probe", Help: "lowest load; if an objective fails there, the search ends", To: option.Float(&o.lowest, 0, 1e9)},
		{Long: "highest", Arg: "LOAD", Default: "1000000 requests/s, 4096 in flight", Help: "highest load", To: option.Float(&o.highest, 0, 1e9)},
		{Long: "first", Arg: "LOAD", Default: "from the latency of single requests", Help: "load of the first probe", To: option.Float(&o.first, 0, 1e9)},
		{Long: "resolution", Arg: "PCT", Help: "end the search when the ends of the capacity's interval are this near to its middle", To: option.Percent(&o.resolution, 50)},
	}), option.Group("Time", []option.Row{
		{Long: "confirm", Arg: "TIME", Help: "duration of the confirmation at the answer", To: option.Time(&o.confirm, time.Second)},
		{Long: "settle", Arg: "TIME", Default: "2s, longer for slow responses", Help: "start of each probe that is not measured", To: option.Time(&o.settle, time.Second)},
		{Long: "probe-min", Arg: "TIME", Default: "3s, longer for slow responses", Help: "shortest measured time of a probe", To: option.Time(&o.probeMin, time.Second)},
		{Long: "probe-max", Arg: "TIME", Default: "30s, longer for slow responses", Help: "longest measured time of a probe; what is undecided then is judged by its value", To: option.Time(&o.probeMax, time.Second)},
		{Long: "budget", Arg: "TIME", Help: "end the search after this time, with the best answer so far; 0 for no limit", To: option.Time(&o.budget, time.Second)},
	}))
}

// read splits a command line into the options of find, which it reads, and those of the command whose traffic is sent.
func read(args []string, secrets *secret.Set) (o *options, rest []string, err error) {
	o = defaults()
	o.table = &option.Table{Rows: o.rows(), Secrets: secrets}
	if rest, err = search.Read(o.table, args); err == nil {
		err = o.check()
	}
	return o, rest, err
}

func (o *options) check() error {
	switch {
	case o.highest > 0 && o.lowest > o.highest:
		return fmt.Errorf("--lowest %g is above --highest %g", o.lowest, o.highest)
	case o.resolution <= 0:
		return errors.New("--resolution must be above 0")
	case o.probeMin > 0 && o.probeMax > 0 && o.probeMin > o.probeMax:
		return fmt.Errorf("--probe-min %v is longer than --probe-max %v", o.probeMin, o.probeMax)
	}
	return o.usePreset()
}

// objectives are the tiers of the search: that of --slo first, then those of --tier.
func (o *options) objectives() ([]find.Tier, error) {
	var tiers []find.Tier
	if len(o.slo) > 0 {
		t, err := find.ParseTier("slo", o.slo)
		if err != nil {
			return nil, fmt.Errorf("--slo: %w", err)
		}
		tiers = append(tiers, t)
	}
	for _, text := range o.tiers {
		t, err := parseTier(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(tiers, func(other find.Tier) bool { return other.Name == t.Name }) {
			return nil, fmt.Errorf("--tier: two tiers have the name %q", t.Name)
		}
		tiers = append(tiers, t)
	}
	if len(tiers) == 0 {
		return nil, errors.New("no objective is given; add --slo with a rule such as 'p99<50ms'")
	}
	return tiers, nil
}

// parseTier reads a tier such as 'fast: ttft.p95<1s itl.p95<33ms'.
func parseTier(text string) (find.Tier, error) {
	name, list, ok := strings.Cut(text, ":")
	t := find.Tier{Name: strings.TrimSpace(name)}
	rules := strings.Fields(list)
	if !ok || t.Name == "" || len(rules) == 0 {
		return t, fmt.Errorf("--tier is 'NAME: RULE RULE', such as 'fast: ttft.p95<1s itl.p95<33ms', not %q", text)
	}
	for _, rule := range rules {
		r, err := gate.Parse(strings.Trim(rule, `'",`))
		if err != nil {
			return t, fmt.Errorf("--tier %s: %w", t.Name, err)
		}
		t.Objectives = append(t.Objectives, r)
	}
	return t, nil
}

// searched is the search as far as it is known before it: what rules about its answer can name.
func (o *options) searched(tiers []find.Tier) *result.Find {
	f := &result.Find{By: o.by}
	for _, t := range tiers {
		f.Tiers = append(f.Tiers, result.FindAnswer{Tier: t.Name})
	}
	f.FindAnswer = f.Tiers[0]
	return f
}
