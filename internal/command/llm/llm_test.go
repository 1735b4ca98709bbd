package llm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

func parseLLM(t *testing.T, line string) (*Plan, error) {
	t.Helper()
	read, err := read(strings.Fields(line), nil)
	return read.opts, err
}

func TestLLMLevels(t *testing.T) {
	f := func(line string, timed bool, want ...string) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			return
		}
		var got []string
		for _, lv := range o.levels(timed) {
			got = append(got, lv.String())
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	f("", false, "concurrency 1")
	f("--concurrency 1,4:8:2", false, "concurrency 1", "concurrency 4", "concurrency 6", "concurrency 8")
	f("--request-rate 5,2.5", false, "request rate 5", "request rate 2.5")
	f("--request-rate 5 --concurrency 3", false, "request rate 5, at most 3 in flight")
	f("--user-centric-rate 2 --num-users 10", false, "10 users at 2 requests/s")
	f("--stages 10:30s,10-50:1m", false, "rate in stages")
	f("--concurrency-stages 1:5,8:5", false, "concurrency in stages")
	f("--think-time 1s±1s --concurrency-stages 1:5,8:5", false, "concurrency in stages")
	f("--input-file f", true, "fixed schedule")
	f("--input-file f --no-fixed-schedule", true, "concurrency 1")
}

// Two loads, and what needs something that is not there, are refused in one line.
func TestLLMContradictions(t *testing.T) {
	for _, line := range []string{
		"--request-rate 5 --stages 5:1s", "--request-rate 5 --user-centric-rate 3 --num-users 2", "--request-rate 5 --concurrency 1,2", "--num-users 3",
		"--fixed-schedule", "--request-rate-ramp-duration 5", "--concurrency-ramp-duration 5 --request-rate 3", "--request-cancellation-rate 10",
		"--request-cancellation-delay 1", "--request-cancellation-delay 0", "--cooldown-duration 5", "--prefill-concurrency 2", "--streaming --prefill-concurrency 9 --concurrency 4",
		"--endpoint-type embeddings --streaming", "--endpoint-type template", "--template f", "--endpoint-type kserve --endpoint x", "-i grpc --endpoint-type chat",
		"--api-key a --api-key-env B", "--embedded -u x",
		"--arrival-pattern constant --arrival-smoothness 2", "--exports nonsense", "--concurrency-stages 1:5 --concurrency 3",
		"--concurrency 0", "--concurrency 5:1", "--request-rate -1", "--stages 5", "--stages 5:x", "--benchmark-duration x", "--header x", "--extra-inputs x", "--console x",
		"--warmup-concurrency 4", "--request-rate-series nofile", "--random-range-ratio 2", "--random-range-ratio 0.1 --seq-dist 1,1:100",
		"--think-time 1x", "--think-time 1s+-2s", "--think-time 1s --request-rate 5", "--think-time 1s --stages 5:1s", "--think-time 1s --input-file f --fixed-schedule",
		"--per-chunk-usage --no-usage", "--endpoint-type completions --system-prompt x", "--endpoint-type completions --conversation-turn-mean 3",
		"--server-metrics-formats parquet", "--image-source assets", "--audio-format mp3",
		"--apply-chat-template", "--apply-chat-template --tokenizer t --endpoint-type embeddings",
	} {
		if _, err := parseLLM(t, "-m m "+line); err == nil {
			t.Errorf("%s passed", line)
		}
	}
}

func TestLLMSeedOptions(t *testing.T) {
	o, err := parseLLM(t, "-u localhost:9001 -i grpc -m ensemble --concurrency 1,4,8 --input-data ./prompts.jsonl --tokenizer-path /models/qwen")
	if err != nil || o.blocks() || o.Kind != "kserve" || o.Data.Path != "./prompts.jsonl" || o.Tokenizer != "/models/qwen" || o.Protocol != plan.GRPC {
		t.Errorf("%+v, %v", o, err)
	}
	if o, _ := parseLLM(t, "-m m -i http"); o.Kind != "triton_generate" || !o.Streaming {
		t.Errorf("%s", o.Kind)
	}
	if o, _ := parseLLM(t, "-m m --console blocks"); !o.blocks() {
		t.Error("the blocks were asked for")
	}
}

// The command that files have is made from the options that were read.
func TestLLMCommandHidesSecrets(t *testing.T) {
	o := defaults()
	args := []string{
		"-m", "m", "--api-key", "SECRETKEY", "-HAuthorization: Bearer SECRETKEY", "--header", "A:1", "X: SECRETKEY", "--head=B:2", "-u", "http://me:SECRETKEY@b:1",
		"--url", "a", "--extra-inputs", `{"token":"SECRETKEY"}`, "--goodput", "ttft:1 itl:2", "--streaming",
	}
	if err := o.parse(args, &secret.Set{}); err != nil {
		t.Fatal(err)
	}
	want := "redline llm --model m --api-key '***' --header 'Authorization: ***' --header 'A: ***' --header 'X: ***' --header 'B: ***' --url 'http://***@b:1'" +
		" --url a --extra-inputs '{\"token\":\"***\"}' --goodput 'ttft:1 itl:2' --streaming"
	if d := cmp.Diff(want, o.table.Command("redline llm")); d != "" {
		t.Error(d)
	}
}

// Repeats draw prompts and arrivals of their own, which the seed of the run gives again.
func TestRepeatsHaveSeedsOfTheirOwn(t *testing.T) {
	f := func(line string, want ...uint64) {
		t.Helper()
		o, err := parseLLM(t, "-m m "+line)
		if err != nil {
			t.Fatal(err)
		}
		r := &traffic{opts: o}
		var got []uint64
		for n := range 3 {
			got = append(got, r.seed(n))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	f("--random-seed 7 --runs 3", 7, 8, 9)
	f("--random-seed 7 --runs 3 --no-vary-seed-per-trial", 7, 7, 7)
}

func TestACalibrationOfTokensIsBrief(t *testing.T) {
	asked := load.Options{Requests: 100_000, Sessions: 7, Duration: time.Hour, CancelShare: 0.5, Warmup: load.Warmup{Requests: 9}}
	f := func(lv load.Level, want int) {
		t.Helper()
		got := brief(asked, lv)
		if got.Requests != want || got.Sessions != 0 || got.Duration != floorTime || got.CancelShare != 0 || got.Warmup.Any() {
			t.Errorf("%s: %+v, want %d requests", lv.String(), got, want)
		}
	}
	f(load.Level{Mode: plan.Concurrency, Concurrency: 1}, floorFew)
	f(load.Level{Mode: plan.Concurrency, Concurrency: 512}, 1536)
	f(load.Level{Mode: plan.RequestRate, Rate: 50, Concurrency: 999}, 150)
	f(load.Level{Mode: plan.RequestRate, Rate: 1e6}, floorMany)
	f(load.Level{Mode: plan.FixedSchedule, Concurrency: 8}, floorMany)
}

// A level is calibrated at its own pace: slow schedules take longer, stages keep their proportions.
func TestACalibratedLevelHasItsOwnPace(t *testing.T) {
	const second = time.Second
	f := func(lv load.Level, requests uint64, took, want time.Duration, stages ...time.Duration) {
		t.Helper()
		given := slices.Clone(lv.Stages)
		got := shortenLevel(&lv, &result.Level{Client: result.Client{Requests: requests, DurationNs: int64(took)}})
		if got != want {
			t.Errorf("%s: %v, want %v", lv.String(), got, want)
		}
		for i, s := range lv.Stages {
			if s.Time != stages[i] || s.To != given[i].To {
				t.Errorf("%s: stage %d is %+v, want %v", lv.String(), i, s, stages[i])
			}
		}
	}
	f(load.Level{Mode: plan.Concurrency, Concurrency: 8}, 10, 100*second, second)
	f(load.Level{Mode: plan.RequestRate, Rate: 100}, 1000, 10*second, second)
	f(load.Level{Mode: plan.FixedSchedule}, 100, 10*second, 3200*time.Millisecond)
	f(load.Level{Mode: plan.FixedSchedule}, 10, 100*second, tokenRunMost)
	slow := []pace.Stage{{To: 5, Time: 30 * second}, {From: 5, To: 9, Time: 10 * second}}
	f(load.Level{Mode: plan.RequestRate, Stages: slow}, 100, 40*second, tokenRunMost, 7500*time.Millisecond, 2500*time.Millisecond)
	f(load.Level{Mode: plan.Concurrency, Stages: slow[1:]}, 100, 10*second, tokenRunMost, 10*second)
	if slow[0].Time != 30*second {
		t.Error("the stages of the run were changed")
	}
}
