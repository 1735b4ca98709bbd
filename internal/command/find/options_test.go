package find

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	f("--slo|p99<1s|--confirm|x", "is a time such as 60s")
	f("--slo|p99<1s|--resolution|0", "--resolution")
	f("--preset|mlperf-server|--slo|p95<15ms", "judges p99")
	f("--preset|mlperf-server|--slo|p99<15ms|--by|users", "remove --by")
	f("--preset|mlperf-server", "no objective is given")
}

func TestPresets(t *testing.T) {
	o, _, err := read(strings.Fields("--preset mlperf-server --slo p99<15ms"), nil)
	if err != nil || o.by != byRate || o.confirm != 10*time.Minute || o.scenario().requests != 270_336 || o.budget != 0 {
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

func TestTimesAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 10 * time.Second: "10s"} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
