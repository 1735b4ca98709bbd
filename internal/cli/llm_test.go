package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/artifact"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

func parseLLM(t *testing.T, line string) (*llmOptions, error) {
	t.Helper()
	o := llmDefaults()
	if err := o.parse(strings.Fields(line), nil); err != nil {
		return o, err
	}
	return o, o.check()
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
	f("--request-rate 5,2.5", false, "5 requests/sec", "2.5 requests/sec")
	f("--request-rate 5 --concurrency 3", false, "5 requests/sec, at most 3 in flight")
	f("--user-centric-rate 2 --num-users 10", false, "10 users at 2 requests/sec")
	f("--stages 10:30s,10-50:1m", false, "rate in stages")
	f("--concurrency-stages 1:5,8:5", false, "concurrency in stages")
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
		"--input-data a --input-file b", "--tokenizer a --tokenizer-path b", "--api-key a --api-key-env B", "--embedded -u x",
		"--arrival-pattern constant --arrival-smoothness 2", "--exports nonsense", "--concurrency-stages 1:5 --concurrency 3",
		"--concurrency 0", "--concurrency 5:1", "--request-rate -1", "--stages 5", "--stages 5:x", "--benchmark-duration x", "--header x", "--extra-inputs x", "--console x",
		"--warmup-concurrency 4", "--request-rate-series nofile", "--random-range-ratio 2", "--random-range-ratio 0.1 --seq-dist 1,1:100",
		"--per-chunk-usage --no-usage", "--endpoint-type completions --system-prompt x", "--endpoint-type completions --conversation-turn-mean 3",
		"--slice-duration 5", "--server-metrics x", "--server-metrics-formats parquet", "--export-level raw", "--image-source assets", "--audio-format mp3",
	} {
		if _, err := parseLLM(t, "-m m "+line); err == nil {
			t.Errorf("%s passed", line)
		}
	}
}

func TestLLMSeedOptions(t *testing.T) {
	o, err := parseLLM(t, "-u localhost:9001 -i grpc -m ensemble --concurrency 1,4,8 --input-data ./prompts.jsonl --tokenizer-path /models/qwen")
	if err != nil || !o.seed() || o.kind != "kserve" || o.data.Path != "./prompts.jsonl" || o.tokenizer != "/models/qwen" || o.protocol != plan.GRPC {
		t.Errorf("%+v, %v", o, err)
	}
	if o, _ := parseLLM(t, "-m m -i http"); o.kind != "triton_generate" || !o.streaming {
		t.Errorf("%s", o.kind)
	}
	if o, _ := parseLLM(t, "-m m -i http --console table"); o.seed() {
		t.Error("the table was asked for")
	}
}

func TestPythonFloats(t *testing.T) {
	for v, want := range map[float64]string{7830.079494413578: "7830.079494413578", 3: "3.0", 0.03435562758944755: "0.03435562758944755", 0.00001: "1e-05", 0: "0.0"} {
		if got := pyFloat(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if pyFloat(math.NaN()) != "nan" {
		t.Error(pyFloat(math.NaN()))
	}
}

// The command that files have is made from the options that were read.
func TestLLMCommandHidesSecrets(t *testing.T) {
	o := llmDefaults()
	args := []string{
		"-m", "m", "--api-key", "SECRETKEY", "-HAuthorization: Bearer SECRETKEY", "--header", "A:1", "X: SECRETKEY", "--head=B:2", "-u", "http://me:SECRETKEY@b:1",
		"--url", "a", "--extra-inputs", `{"token":"SECRETKEY"}`, "--goodput", "ttft:1 itl:2", "--streaming",
	}
	if err := o.parse(args, &secret.Set{}); err != nil {
		t.Fatal(err)
	}
	want := "redline llm --model m --api-key '***' --header 'Authorization: ***' --header 'A: ***' --header 'X: ***' --header 'B: ***' --url 'http://***@b:1'" +
		" --url a --extra-inputs '{\"token\":\"***\"}' --goodput 'ttft:1 itl:2' --streaming"
	if d := cmp.Diff(want, o.set.Command("redline llm")); d != "" {
		t.Error(d)
	}
}

func TestSlices(t *testing.T) {
	var list []artifact.Slice
	s := newSlicer(time.Second, load.Options{}, false, func(s *artifact.Slice) { list = append(list, *s) })
	for i := range 50 {
		at := int64(i) * int64(100*time.Millisecond)
		s.add(&llm.Sample{Sent: at, End: at + 1, Chunks: []llm.Chunk{{At: at + 1}}})
	}
	if len(list) != 3 {
		t.Errorf("%d slices are written before the end", len(list))
	}
	s.finish(math.MaxInt64)
	if len(list) != 5 {
		t.Fatalf("%d slices", len(list))
	}
	for i, sl := range list {
		if sl.End-sl.Begin != int64(time.Second) || i > 0 && sl.Begin != list[i-1].End {
			t.Errorf("slice %d from %d to %d", i, sl.Begin, sl.End)
		}
	}
}
