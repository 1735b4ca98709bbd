package llm

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
)

//go:embed testdata/aiperf_options.txt
var aiperfOptions string

// Every option of AIPerf is taken under its name, or answered in one line with what there is in its place. None is
// taken for another one that starts alike.
func TestAIPerfOptions(t *testing.T) {
	ours, hints := map[string]bool{}, map[string]string{}
	for _, r := range defaults().rows() {
		for _, name := range r.Names() {
			ours[name], hints[name] = r.Instead == "", r.Instead
		}
	}
	n := 0
	for name := range strings.FieldsSeq(strings.SplitN(aiperfOptions, "\n", 2)[1]) {
		n++
		hint := hints["--"+name]
		switch {
		case ours["--"+name]:
		case hint == "":
			t.Errorf("--%s is neither taken nor answered", name)
		default:
			err := defaults().parse([]string{"--" + name, "x"}, nil)
			if err == nil || !strings.Contains(err.Error(), "--"+name+" is an option of AIPerf") || strings.Contains(err.Error(), "\n") {
				t.Errorf("--%s: %v", name, err)
			}
		}
	}
	if n < 250 {
		t.Errorf("only %d options", n)
	}
	for _, h := range aiperfHints {
		for name := range strings.FieldsSeq(h.names) {
			if !strings.Contains(aiperfOptions, "\n"+name+"\n") {
				t.Errorf("AIPerf has no --%s", name)
			}
		}
	}
}

func TestSeveralValues(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got := strings.Join(severalValues(defaults().rows(), strings.Fields(line)), " "); got != want {
			t.Errorf("%s\nbecame %s\n  want %s", line, got, want)
		}
	}
	f("--extra-inputs a:1 b:2 --streaming", "--extra-inputs a:1 --extra-inputs b:2 --streaming")
	f("--goodput ttft:200 tpot:20", "--goodput ttft:200 --goodput tpot:20")
	f("-u a b -m x", "-u a -u b -m x")
	f("-m x y", "-m x -m y")
	f("--gpu-telemetry --streaming", "--gpu-telemetry --streaming")
	f("--gpu-telemetry a b --streaming", "--gpu-telemetry a --gpu-telemetry b --streaming")
	f("--server-metrics -m x", "--server-metrics -m x")
	f("--extra-inputs=a:1 b:2", "--extra-inputs=a:1 b:2")
	f("-H -x:1 y:2", "-H -x:1 -H y:2")
}

func TestWarmOptions(t *testing.T) {
	f := func(line string, lv load.Level, want load.Warmup) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		lo := o.loadOptions()
		got := o.Warm.phase(&lo, lv)
		want.Grace = got.Grace
		if want.Arrival == "" {
			want.Arrival = load.Poisson
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	closed := load.Level{Mode: plan.Concurrency, Concurrency: 8}
	rate := load.Level{Mode: plan.RequestRate, Rate: 50}
	f("", closed, load.Warmup{Level: closed})
	f("--warmup-request-count 5", closed, load.Warmup{Level: closed, Requests: 5})
	f("--num-warmup-sessions 5 --warmup-concurrency 2", closed, load.Warmup{Level: load.Level{Mode: plan.Concurrency, Concurrency: 2}, Sessions: 5})
	f("--warmup-request-count 5 --warmup-request-rate 3 --warmup-arrival-pattern constant", closed,
		load.Warmup{Level: load.Level{Mode: plan.RequestRate, Rate: 3}, Requests: 5, Shape: load.Shape{Arrival: load.Constant}})
	f("--request-rate 50 --warmup-request-count 5 --warmup-concurrency 2", rate,
		load.Warmup{Level: load.Level{Mode: plan.RequestRate, Rate: 50, Concurrency: 2}, Requests: 5})
}
