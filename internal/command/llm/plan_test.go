package llm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/secret"
)

// lines are command lines that together give most options a value.
var lines = []string{
	"-m m",
	"-m a,b -u h:1,h:2 --endpoint-type responses --streaming --header A:1 --api-key-env KEY --extra-inputs temperature:0.5 --extra-inputs {\"x\":{\"b\":1,\"a\":2}}",
	"-m m --concurrency 1,4 --request-count 9 --warmup-request-count 3 --warmup-concurrency 2 --goodput ttft:200 --until ttft.p99±5% --runs 2 --random-seed 18446744073709551615",
	"-m m --request-rate 5,10 --arrival-pattern gamma --benchmark-duration 60 --cooldown-duration 5 --benchmark-grace-period inf --request-rate-ramp-duration 3",
	"-m m --arrival-pattern gamma", "-m m --stages 10:30s,10-50:1m --concurrency 9", "-m m --concurrency-stages 8:30s,8-32:1m --think-time 1s±100ms",
	"-m m --user-centric-rate 2 --num-users 10", "-m m --input-file f --fixed-schedule --replay-speedup 2 --fixed-schedule-start-offset 100",
	"-m m --request-cancellation-rate 10 --request-cancellation-delay 0", "-m m --isl 100,200 --osl 10,20 --random-range-ratio 0.5 --num-conversations 3",
	"-m m --endpoint-type rankings --input-file synthetic:queries,passages --isl 100 -b 2 --extra-inputs rankings:tei", "-m m --input-file payload:p.jsonl",
	"-m m --endpoint-type template --extra-inputs payload_template:nv-embedqa response_field:data[0].v temperature:1 -u http://host:8000/embed",
	"-m m -i grpc --input-data p.jsonl --tokenizer-path t", "-m m -i http", "-m m --backend vllm -u https://h", "-m m --image-width-mean 50 --audio-length-mean 3 --video-fps 2",
	"-m m --endpoint-type transcription --audio-length-mean 3", "-m m --max-error-rate 5 --request-timeout-seconds 9 --cache-bust first_turn_prefix --dataset-sampling-strategy random",
	"-m m --length-distribution lognormal --conversation-turn-mean 3 --conversation-turn-delay-ratio 0", "-m m --segment 2/5 --console table -v", "-m m --embedded --calibrate --streaming",
	"-m m --workers 2 --nats nats://h:1", "-m m --server-metrics --gpu-telemetry h:1 --assert p99<1s --baseline last --label x",
}

// written is the plan of a command line as a result has it: indented.
func written(t *testing.T, line string) (traffic, json.RawMessage) {
	t.Helper()
	read, err := read(strings.Fields(line), &secret.Set{})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	own, err := json.MarshalIndent(read.written, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return read, own
}

// A plan goes both ways through JSON, and a run of a written plan is the same run.
func TestAPlanIsWrittenAndReadAgain(t *testing.T) {
	for _, line := range lines {
		first, own := written(t, line)
		more := ""
		if len(first.written.Secrets) > 0 {
			more = "--header A:1"
		}
		again, err := readAgain(own, strings.Fields(more), &secret.Set{})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if d := cmp.Diff(first.opts, again.opts); d != "" {
			t.Errorf("%s: %s", line, d)
		}
		if d := cmp.Diff(first.load, again.load); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

// The options of a rerun replace those of the plan. Files of the first run are not written again.
func TestOptionsChangeAWrittenPlan(t *testing.T) {
	f := func(line, more, same string) {
		t.Helper()
		_, own := written(t, line)
		got, err := readAgain(own, strings.Fields(more), &secret.Set{})
		if err != nil {
			t.Errorf("%s, %s: %v", line, more, err)
			return
		}
		want, _ := written(t, same)
		if d := cmp.Diff(want.opts, got.opts); d != "" {
			t.Errorf("%s, %s: %s", line, more, d)
		}
	}
	f("-m m -u a:1", "-u b:1 -m n", "-m n -u b:1")
	f("-m m --embedded", "-u b:1", "-m m -u b:1")
	f("-m m -u a:1", "--embedded", "-m m --embedded")
	f("-m m", "--request-rate 5", "-m m --request-rate 5")
	f("-m m --concurrency 4 --goodput ttft:200", "--concurrency 8 --streaming", "-m m --concurrency 8 --goodput ttft:200 --streaming")
	f("-m m --extra-inputs a:1", "--extra-inputs b:2 a:3", "-m m --extra-inputs a:3 b:2")
	f("-m m --image-batch-size 2 --image-width-mean 5", "--image-width-mean 6", "-m m --image-batch-size 2 --image-width-mean 6")
	f("-m m --json r.json --artifact-dir d --report p.html --label x --assert p99<1s", "--json s.json --assert p50<1s", "-m m --json s.json --label x --assert p99<1s --assert p50<1s")
}

// A written plan has no secrets. It names the options that gave them, and needs their values again.
func TestAWrittenPlanHasNoSecrets(t *testing.T) {
	_, own := written(t, `-m m -u http://me:HUSHHUSH@h:1,h:2 -H A:HUSHHUSH --api-key HUSHHUSH --extra-inputs {"token":"HUSHHUSH","a":1} --gpu-telemetry http://u:HUSHHUSH@g:1`)
	if strings.Contains(string(own), "HUSH") {
		t.Errorf("%s", own)
	}
	if _, err := readAgain(own, strings.Fields("-H A:X -u h:1"), &secret.Set{}); err == nil ||
		err.Error() != `the result keeps no secrets: give --api-key=***, --extra-inputs={"token":"***","a":1}, --gpu-telemetry=http://***@g:1 again` {
		t.Error(err)
	}
	more := "-u http://me:X@h:1,h:2 -H A:X --api-key X --extra-inputs token:X --gpu-telemetry http://u:X@g:1"
	again, err := readAgain(own, strings.Fields(more), &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := written(t, "-m m --extra-inputs a:1 "+more)
	if d := cmp.Diff(want.opts, again.opts); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(mustJSON(t, again.written)), `"X"`) {
		t.Error("the plan of the second run has a secret")
	}
}

// A secret that is also the value of another option does not keep a run from starting. That option must be given again too.
func TestASecretIsAnotherValue(t *testing.T) {
	_, own := written(t, "-m m --api-key HUSHHUSH --tokenizer HUSHHUSH")
	if _, err := readAgain(own, strings.Fields("--api-key 1"), &secret.Set{}); err == nil || !strings.Contains(err.Error(), "give --tokenizer=*** again") {
		t.Error(err)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// All faults of a command line are told at once.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := parseLLM(t, "-m m --request-rate 5 --think-time 1s --num-users 3 --per-chunk-usage --no-usage --exports x --image-format png --input-file f")
	if err == nil {
		t.Fatal("no fault")
	}
	for _, want := range []string{"--think-time needs a closed loop", "--user-centric-rate and --num-users", "--per-chunk-usage and --no-usage", "--exports is a list", "--image-format is for generated"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing:\n%v", want, err)
		}
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 5 {
		t.Errorf("%d lines:\n%v", n, err)
	}
}
