package find

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
)

func TestOptionsOfFindAndOfTheTraffic(t *testing.T) {
	o, rest, err := read(strings.Fields("-m x --slo p99<50ms -u h:1 --confirm=5s --slo error_rate<1% --streaming --by concurrency"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"-m", "x", "-u", "h:1", "--streaming"}, rest); d != "" {
		t.Error(d)
	}
	if o.by != byConcurrency || o.confirm != 5*time.Second || len(o.slo) != 2 {
		t.Errorf("%+v", o)
	}
	tiers, err := o.objectives()
	if err != nil || len(tiers) != 1 || len(tiers[0].Objectives) != 2 {
		t.Errorf("%+v %v", tiers, err)
	}
}

func TestTiers(t *testing.T) {
	o, _, err := read([]string{"--tier", "fast: 'ttft.p95<1s' itl.p95<33ms", "--tier=slow: ttft.p95<5s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tiers, err := o.objectives()
	if err != nil || len(tiers) != 2 || tiers[0].Name != "fast" || len(tiers[0].Objectives) != 2 || tiers[1].Objectives[0].Text != "ttft.p95<5s" {
		t.Errorf("%+v %v", tiers, err)
	}
}

func TestWrongOptions(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		o, _, err := read(strings.Split(line, "|"), nil)
		if err == nil {
			_, err = o.objectives()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	f("--by|x", "--by")
	f("--slo|p99", "is not of the form")
	f("--slo|p99<5x", "unknown unit")
	f("-m|x", "no objective is given")
	f("--tier|ttft.p95<1s", "--tier is 'NAME: RULE RULE'")
	f("--tier|a: p99<1s|--tier|a: p99<2s", "two tiers")
	f("--slo|p99<1s|--lowest|5|--highest|4", "is above --highest")
	f("--slo|p99<1s|--probe-min|5s|--probe-max|4s", "is longer than --probe-max")
	f("--slo|p99<1s|--confirm|x", "is a time such as 5s or 250ms, or a number of seconds")
	f("--slo|p99<1s|--resolution|0", "--resolution")
	f("--preset|mlperf-server|--slo|p95<15ms", "judges p99")
	f("--preset|mlperf-server|--slo|P95<15ms", "judges p99")
	f("--preset|mlperf-server|--slo|p99<15ms|--by|users", "remove --by")
	f("--preset|mlperf-server", "no objective is given")
}

func TestPresets(t *testing.T) {
	o, _, err := read(strings.Fields("--preset mlperf-server --slo p99<15ms"), nil)
	if err != nil || o.by != byRate || o.confirm != 10*time.Minute || o.scenario().requests != 662 || o.budget != 0 {
		t.Errorf("%+v %v", o, err)
	}
	o, _, err = read(strings.Fields("--preset mlperf-singlestream --confirm 5s"), nil)
	if err != nil || o.by != byConcurrency || o.lowest != 1 || o.highest != 1 || o.confirm != 5*time.Second || len(o.slo) != 1 {
		t.Errorf("%+v %v", o, err)
	}
	if o, _, err = read(strings.Fields("--preset mlperf-offline --highest 32"), nil); err != nil || o.lowest != 32 {
		t.Errorf("%+v %v", o, err)
	}
}

// What a search cannot decide is refused before the load.
func TestObjectivesFitASearch(t *testing.T) {
	f := func(slo, want string) {
		t.Helper()
		o, _, err := read([]string{"--slo", slo}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tiers, err := o.objectives()
		if err != nil {
			t.Fatal(err)
		}
		err = find.CheckObjectives(tiers, &gate.Sample{Level: measure.Sample(nil, false)})
		if want == "" && err == nil {
			return
		}
		if want == "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", slo, err)
		}
	}
	f("p99<5ms", "")
	f("p99==5ms", "use <, <=, > or >=")
	f("p99!=5ms", "use <, <=, > or >=")
	f("p99<5ms@8", "remove @")
	f("p99<5%", "p99 is in ms")
	f("nothing<5", "this run does not measure it")
}

// A time of a probe that is given alone moves the other one, and the search says so.
func TestProbeTimesFit(t *testing.T) {
	f := func(o options, lowest, highest time.Duration, note string) {
		t.Helper()
		o.by = byRate
		s := &session{opts: &o, traffic: fixed{}}
		c, err := s.config(10 * time.Millisecond)
		if err != nil || c.MinTime != lowest || c.MaxTime != highest || !strings.HasPrefix(s.note, note) || (note == "") != (s.note == "") {
			t.Errorf("%v to %v, %q, %v", c.MinTime, c.MaxTime, s.note, err)
		}
	}
	f(options{}, 3*time.Second, 30*time.Second, "")
	f(options{probeMax: time.Second}, time.Second, time.Second, "the shortest time of a probe is lowered from 3s to 1s")
	f(options{probeMin: time.Minute}, time.Minute, time.Minute, "the longest time of a probe is raised from 30s to 1m0s")
}

// fixed is traffic that is not sent.
type fixed struct{ search.Traffic }

func (fixed) MaxErrorRate() float64 { return 0.01 }
