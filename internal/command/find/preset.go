package find

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/convert"
)

// preset is an MLPerf-like scenario: the percentile, the shortest time and the smallest number of requests of MLPerf's public
// rules for inference. Its outcome is no MLPerf result: those need the rules' data sets, load generator and review.
type preset struct {
	name       string
	title      string
	by         string
	percentile float64 // that objectives on latencies have; 0 for any
	requests   int
	// fixed is the one load of a scenario without a search; 0 searches.
	fixed float64
	// figure is the number that a scenario without a search reports.
	figure string
}

// presetTime is the shortest time of every scenario.
const presetTime = 10 * time.Minute

// offlineInFlight stands for "all requests at once": enough to keep any batcher busy.
const offlineInFlight = 256

var presets = []preset{
	{name: "mlperf-server", title: "server", by: byRate, percentile: 99, requests: 662},
	{name: "mlperf-offline", title: "offline", by: byConcurrency, requests: 24_576, fixed: offlineInFlight, figure: "throughput"},
	{name: "mlperf-singlestream", title: "single stream", by: byConcurrency, percentile: 90, requests: 64, fixed: 1, figure: "p90"},
	{name: "mlperf-multistream", title: "multi stream", by: byConcurrency, percentile: 99, requests: 662, fixed: 1, figure: "p99"},
}

func presetNames() []string { return convert.All(presets, func(p preset) string { return p.name }) }

func (o *options) scenario() *preset {
	for i := range presets {
		if presets[i].name == o.preset {
			return &presets[i]
		}
	}
	return nil
}

// usePreset sets what the preset determines.
func (o *options) usePreset() error {
	p := o.scenario()
	if p == nil {
		return nil
	}
	if o.table.Given("by") && o.by != p.by {
		return fmt.Errorf("--preset %s searches by %s: remove --by %s", p.name, p.by, o.by)
	}
	o.by = p.by
	if !o.table.Given("confirm") {
		o.confirm = presetTime
	}
	if !o.table.Given("budget") {
		o.budget = 0
	}
	if p.fixed > 0 {
		load := p.fixed
		if p.title == "offline" && o.highest > 0 {
			load = math.Floor(o.highest)
		}
		o.lowest, o.highest, o.first = load, load, load
		if len(o.slo)+len(o.tiers) == 0 {
			o.slo = []string{"requests>0"} // the scenario has no objective of its own
		}
	}
	return o.checkPercentiles(p)
}

// checkPercentiles refuses objectives on another percentile than that of the scenario.
func (o *options) checkPercentiles(p *preset) error {
	tiers, err := o.objectives()
	if err != nil || p.percentile == 0 {
		return err
	}
	want := fmt.Sprintf("p%g", p.percentile)
	for _, t := range tiers {
		for _, r := range t.Objectives {
			stat := r.Name[strings.LastIndexByte(r.Name, '.')+1:]
			if strings.HasPrefix(stat, "p") && strings.Trim(stat[1:], "0123456789.") == "" && len(stat) > 1 && stat != want {
				return fmt.Errorf("the objective %q: --preset %s judges %s", r.Text, p.name, want)
			}
		}
	}
	return nil
}
