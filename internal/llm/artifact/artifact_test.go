package artifact_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/artifact"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/columns"
)

// sample is the n-th of a run against a server that streams.
func sample(r *rand.Rand, n int) *llm.Sample {
	at := clock.Now() + int64(n)*3e6
	s := &llm.Sample{
		Index: uint64(n), Conversation: fmt.Sprintf("session_%06d", n/2), Turn: n % 2, RequestID: fmt.Sprint("r", n), Slot: uint32(n % 4),
		Due: at, Sent: at + 1000, Headers: at + 5e6, Asked: 16, Streamed: true, In: 90, Out: 2000,
		Input:   llm.Count{Tokens: 64, From: llm.Tokenizer},
		Usage:   &llm.Usage{Prompt: 64, Completion: 16, Total: 80, Reasoning: -1, Cached: 8},
		Payload: fmt.Appendf(nil, `{"model":"m","stream":true,"messages":[{"role":"user","content":"question %d <&>"}]}`, n),
	}
	now := at + 20e6 + r.Int64N(5e6)
	for i := range 16 {
		text := fmt.Sprintf(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" w%d"}}]}`, i)
		s.Answers = append(s.Answers, llm.Answer{At: now, Data: []byte("data: " + text + "\n\n")})
		s.Chunks = append(s.Chunks, llm.Chunk{At: now, Kind: llm.Text, Tokens: 1})
		if i != 7 { // two tokens may come together
			now += 1e6 + r.Int64N(1e6)
		}
	}
	s.Answers = append(s.Answers, llm.Answer{At: now, Data: []byte("data: [DONE]\n\n")})
	s.Output = llm.Count{Tokens: 16, From: llm.Server}
	s.Last, s.End = now, now
	if n%10 == 9 {
		s.Class, s.Code, s.Err = record.Server, 500, "the server said \"no\"\n"
		s.Chunks, s.Answers = nil, s.Answers[:1]
	}
	return s
}

func config(dir string, files artifact.Files) artifact.Config {
	return artifact.Config{
		Dir: dir, Files: files, Version: "0.1", Model: "m", Tokenizer: "t", URL: "http://localhost:8000", EndpointType: "chat",
		Path: "/v1/chat/completions", Streaming: true, Concurrency: 4, Seed: 7, Command: "redline llm -m m", Run: "b1",
		Asked: map[string]any{"concurrency": 4}, Headers: map[string]string{"Content-Type": "application/json"},
	}
}

// fill writes n samples and returns the numbers that the summary got.
func fill(t testing.TB, w *artifact.Writer, n int) artifact.Outcome {
	t.Helper()
	c := metric.New(metric.Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		s := sample(r, i)
		c.Add(s)
		w.Sample(s)
		if i%2 == 1 {
			w.Input(s.Conversation, s.Payload, s.Payload)
		}
	}
	m := c.Metrics()
	from, to := c.Span()
	w.Slice(&metric.Slice{Begin: clock.Wall(from), End: clock.Wall(from) + 1e9, Whole: true, Metrics: m})
	w.Slice(&metric.Slice{Begin: clock.Wall(from) + 1e9, End: clock.Wall(to), Metrics: m})
	return artifact.Outcome{
		Metrics: m, Begin: clock.Wall(from), End: clock.Wall(to), Errors: []artifact.Failure{{500, "server", "no", uint64(n / 10)}},
		Windows: []int64{clock.Wall(from), clock.Wall(to)},
	}
}

// written writes n samples into a new folder.
func written(t *testing.T, n int, files artifact.Files, change func(*artifact.Config)) (string, artifact.Outcome) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	cfg := config(dir, files)
	if change != nil {
		change(&cfg)
	}
	w, err := artifact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := fill(t, w, n)
	if entries, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(entries) > 0 {
		t.Errorf("files are there before they are complete: %v", entries)
	}
	if err := w.Close(o); err != nil {
		t.Fatal(err)
	}
	return dir, o
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	return doc
}

func TestNames(t *testing.T) {
	f := func(files artifact.Files, prefix string, want ...string) {
		t.Helper()
		dir, _ := written(t, 20, files, func(c *artifact.Config) { c.Prefix = prefix })
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("files (-got +want):\n%s", d)
		}
	}
	f(artifact.Default, "", "inputs.json", "profile_export.jsonl", "profile_export_aiperf.csv", "profile_export_aiperf.json")
	f(artifact.Default|artifact.Raw|artifact.Slices, "x", "inputs.json", "x.csv", "x.json", "x.jsonl", "x_raw.jsonl", "x_timeslices.csv", "x_timeslices.json")
	f(artifact.Profile|artifact.GenAI|artifact.VLLM|artifact.Parquet, "", "events.parquet", "profile_export.json",
		"profile_export_genai_perf.csv", "profile_export_genai_perf.json", "requests.parquet", "vllm_bench.json")
}

func TestSummary(t *testing.T) {
	dir, o := written(t, 50, artifact.Summary|artifact.CSV, nil)
	doc := object(t, readFile(t, dir, "profile_export_aiperf.json"))
	if doc["schema_version"] != "1.4" || doc["is_complete"] != true || doc["was_cancel"+"led"] != false {
		t.Errorf("head: %v %v %v", doc["schema_version"], doc["is_complete"], doc["was_cancel"+"led"])
	}
	m, _ := metric.Find(o.Metrics, "time_to_first_token")
	got, _ := doc["time_to_first_token"].(map[string]any)
	p99, _ := m.Find(99)
	if got["avg"] != m.Avg || got["p99"] != p99 || got["count"] != 45.0 || got["unit"] != "ms" || got["std"] != m.Std {
		t.Errorf("time to first token: %v", got)
	}
	if got, _ := doc["request_throughput"].(map[string]any); len(got) != 2 {
		t.Errorf("a single number is more than one: %v", got)
	}
	r := csv.NewReader(strings.NewReader(string(readFile(t, dir, "profile_export_aiperf.csv"))))
	r.FieldsPerRecord = -1
	table, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(table[0], ",") != "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std" || table[len(table)-1][0] != "Total Usage Total Tokens (tokens)" {
		t.Errorf("table: %v … %v", table[0], table[len(table)-1])
	}
}

func TestRecords(t *testing.T) {
	dir, _ := written(t, 20, artifact.Records|artifact.Raw, nil)
	lines := strings.Split(strings.TrimSpace(string(readFile(t, dir, "profile_export.jsonl"))), "\n")
	if len(lines) != 20 {
		t.Fatalf("%d lines", len(lines))
	}
	var first, failed struct {
		Metadata map[string]any
		Metrics  map[string]struct {
			Value any
			Unit  string
		}
		Error map[string]any
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(lines[9]), &failed); err != nil {
		t.Fatal(err)
	}
	gaps, _ := first.Metrics["inter_chunk_latency"].Value.([]any)
	if first.Metadata["conversation_id"] != "session_000000" || len(gaps) != 15 || first.Error != nil || first.Metadata["benchmark_phase"] != "profiling" {
		t.Errorf("first: %+v", first)
	}
	sum := 0.0
	for _, g := range gaps {
		sum += g.(float64)
	}
	if d, _ := first.Metrics["decode_duration"].Value.(float64); sum < d-1e-6 || sum > d+1e-6 {
		t.Errorf("gaps of %v ms in %v ms", sum, d)
	}
	if len(failed.Metrics) > 0 || failed.Error["code"] != 500.0 || failed.Error["message"] != "the server said \"no\"\n" {
		t.Errorf("failed: %+v", failed)
	}
	raw := object(t, []byte(strings.SplitN(string(readFile(t, dir, "profile_export_raw.jsonl")), "\n", 2)[0]))
	answers, _ := raw["responses"].([]any)
	if len(answers) != 17 || fmt.Sprint(answers[16].(map[string]any)["packets"]) != "[map[name:data value:[DONE]]]" {
		t.Errorf("raw: %v", answers)
	}
}

func TestProfile(t *testing.T) {
	dir, _ := written(t, 20, artifact.Profile, nil)
	var doc struct {
		Experiments []struct {
			Experiment struct {
				Mode  string
				Value json.Number
			}
			Requests []struct {
				Inputs  map[string]string   `json:"request_inputs"`
				Times   []int64             `json:"response_timestamps"`
				Outputs []map[string]string `json:"response_outputs"`
			}
		}
		Endpoint string
		Kind     string `json:"service_kind"`
	}
	if err := json.Unmarshal(readFile(t, dir, "profile_export.json"), &doc); err != nil {
		t.Fatal(err)
	}
	e := doc.Experiments[0]
	if e.Experiment.Mode != "concurrency" || e.Experiment.Value != "4" || doc.Endpoint != "v1/chat/completions" || doc.Kind != "openai" || len(e.Requests) != 18 {
		t.Errorf("%s %s %s %s %d", e.Experiment.Mode, e.Experiment.Value, doc.Endpoint, doc.Kind, len(e.Requests))
	}
	r := e.Requests[0]
	if len(r.Times) != 17 || r.Outputs[16]["response"] != "data: [DONE]\n\n" || !strings.Contains(r.Inputs["payload"], "question 0 <&>") {
		t.Errorf("%+v", r)
	}
	dir, _ = written(t, 10, artifact.Profile, func(c *artifact.Config) { c.Concurrency = 0 })
	if text := string(readFile(t, dir, "profile_export.json")); !strings.Contains(text, `{"mode":"request_rate","value":0.0}`) {
		t.Errorf("a schedule: %.100s", text)
	}
}

// Models of KServe answer with tensors; perf_analyzer's file has them by name.
func TestTensors(t *testing.T) {
	dir := t.TempDir()
	cfg := config(dir, artifact.Profile|artifact.Raw)
	cfg.EndpointType = "kserve"
	w, err := artifact.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := sample(rand.New(rand.NewPCG(1, 1)), 0)
	s.Payload = []byte(`{"text_input":"hi","max_tokens":5}`)
	output := "\x0a\x0btext_output\x12\x05BYTES"
	message := "\x0a\x01m" + "\x2a" + string(rune(len(output))) + output + "\x32\x08\x04\x00\x00\x00 tok"
	s.Answers = []llm.Answer{{At: s.Sent + 10, Data: []byte(message)}, {At: s.Sent + 20, Data: []byte("\x0a\x01m")}, {At: s.Sent + 30, Data: []byte("\xff\xff")}}
	w.Sample(s)
	if err := w.Close(artifact.Outcome{}); err != nil {
		t.Fatal(err)
	}
	text := string(readFile(t, dir, "profile_export.json"))
	for _, want := range []string{
		`"request_inputs":{"text_input":"hi","max_tokens":5}`, `"response_outputs":[{"text_output":" tok"},{"text_output":""},{"text_output":""}]`, `"service_kind":"triton"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if raw := string(readFile(t, dir, "profile_export_raw.jsonl")); !strings.Contains(raw, `"text":"{\"text_output\":\" tok\"}"`) {
		t.Errorf("raw: %s", raw)
	}
}

// The schemas are what programs that read the files rely on.
const (
	eventSchema = `message eventRow {
	required int64 request (INT(64,false));
	required int32 index (INT(32,true));
	required int64 at_ns (INT(64,true));
	required binary kind (STRING);
	required int32 tokens (INT(32,true));
}`
	requestSchema = `message requestRow {
	required int64 request (INT(64,false));
	required binary conversation (STRING);
	required int32 turn (INT(32,true));
	required int32 slot (INT(32,false));
	required boolean warmup;
	required int64 due_ns (INT(64,true));
	required int64 sent_ns (INT(64,true));
	required int64 headers_ns (INT(64,true));
	required int64 first_ns (INT(64,true));
	required int64 last_ns (INT(64,true));
	required int64 end_ns (INT(64,true));
	required binary class (STRING);
	required int32 code (INT(32,true));
	required binary error (STRING);
	required boolean cut;
	required int32 events (INT(32,true));
	required int32 asked_tokens (INT(32,true));
	required int32 input_tokens (INT(32,true));
	required binary input_from (STRING);
	required int32 output_tokens (INT(32,true));
	required binary output_from (STRING);
	required int32 reasoning_tokens (INT(32,true));
	required int32 cached_tokens (INT(32,true));
	required int64 request_bytes (INT(64,false));
	required int64 answer_bytes (INT(64,false));
}`
)

func TestParquet(t *testing.T) {
	dir, _ := written(t, 500, artifact.Parquet, nil)
	type event struct {
		Request uint64 `parquet:"request"`
		Index   int32  `parquet:"index"`
		At      int64  `parquet:"at_ns"`
		Kind    string `parquet:"kind"`
		Tokens  int32  `parquet:"tokens"`
	}
	columns.Check(t, filepath.Join(dir, "events.parquet"), eventSchema, 256<<10)
	columns.Check(t, filepath.Join(dir, "requests.parquet"), requestSchema, 8<<10)
	events, err := parquet.ReadFile[event](filepath.Join(dir, "events.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	k := 0
	for i := range 500 {
		s := sample(r, i)
		for n, c := range s.Chunks {
			// The samples of two calls start at other times, except for the same times since.
			if want := (event{uint64(i), int32(n), c.At - s.Sent, "text", 1}); events[k] != want {
				t.Fatalf("event %d: %+v, want %+v", k, events[k], want)
			}
			k++
		}
	}
	if k != len(events) {
		t.Errorf("%d events, want %d", len(events), k)
	}
	requests, err := parquet.ReadFile[struct {
		Request uint64 `parquet:"request"`
		Class   string `parquet:"class"`
		Error   string `parquet:"error"`
		Events  int32  `parquet:"events"`
		From    string `parquet:"output_from"`
		Cached  int32  `parquet:"cached_tokens"`
		Asked   uint64 `parquet:"request_bytes"`
		Came    uint64 `parquet:"answer_bytes"`
	}](filepath.Join(dir, "requests.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if len(requests) != 500 || requests[9].Class != "server" || requests[9].Error == "" || requests[8].Events != 16 || requests[8].From != "server usage" || requests[8].Cached != 8 ||
		requests[8].Asked != 90 || requests[8].Came != 2000 {
		t.Errorf("%d requests, %+v", len(requests), requests[8:10])
	}
}

func TestVLLM(t *testing.T) {
	dir, o := written(t, 30, artifact.VLLM, nil)
	doc := object(t, readFile(t, dir, "vllm_bench.json"))
	m, _ := metric.Find(o.Metrics, "vllm_ttft")
	if doc["completed"] != 27.0 || doc["failed"] != 3.0 || doc["mean_ttft_ms"] != m.Avg || doc["max_concurrency"] != 4.0 {
		t.Errorf("%v %v %v", doc["completed"], doc["failed"], doc["mean_ttft_ms"])
	}
	for _, key := range []string{
		"date", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate", "burstiness", "max_concurrency", "duration", "completed", "failed",
		"total_input_tokens", "total_output_tokens", "request_throughput", "request_goodput", "output_throughput", "total_token_throughput",
		"max_output_tokens_per_s", "max_concurrent_requests", "rtfx", "mean_tpot_ms", "median_itl_ms", "std_e2el_ms", "p99_ttft_ms",
	} {
		if _, ok := doc[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
	var sum, n float64
	for _, list := range doc["itls"].([]any) {
		for _, gap := range list.([]any) {
			sum, n = sum+gap.(float64), n+1
		}
	}
	if mean := doc["mean_itl_ms"].(float64); n != 27*16 || math.Abs(1000*sum/n-mean) > 1e-3 {
		t.Errorf("the mean of %g gaps is %g ms, mean_itl_ms is %g", n, 1000*sum/n, mean)
	}
	for _, key := range []string{"input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"} {
		if list, _ := doc[key].([]any); len(list) != 30 {
			t.Errorf("%s has %d values", key, len(list))
		}
	}
}

func TestNothingMeasured(t *testing.T) {
	dir := t.TempDir()
	w, err := artifact.New(config(dir, artifact.All))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(artifact.Outcome{Canceled: true, Reason: "stopped"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"profile_export_aiperf.json", "inputs.json", "profile_export.json", "profile_export_genai_perf.json", "vllm_bench.json", "profile_export_aiperf_timeslices.json"} {
		object(t, readFile(t, dir, name))
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	w, err := artifact.New(config(dir, artifact.All))
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, 10)
	w.Abort()
	w.Abort()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.New(config(filepath.Join(dir, "file"), artifact.All)); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// heavy is a sample with many events.
// A file that a full disk ends is lost alone: the others have every request, and the error names the one.
func TestAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full to stand for a full disk")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "profile_export_raw.jsonl")); err != nil {
		t.Fatal(err)
	}
	w, err := artifact.New(config(dir, artifact.All))
	if err != nil {
		t.Fatal(err)
	}
	o := fill(t, w, 500)
	err = w.Close(o)
	if err == nil || err.Error() != filepath.Join(dir, "profile_export_raw.jsonl")+" is lost: no space left on device" {
		t.Errorf("the error is %v", err)
	}
	if n := bytes.Count(readFile(t, dir, "profile_export.jsonl"), []byte("\n")); n != 500 {
		t.Errorf("%d records, want 500", n)
	}
	object(t, readFile(t, dir, "profile_export_aiperf.json"))
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func heavy(events int) *llm.Sample {
	s := sample(rand.New(rand.NewPCG(1, 1)), 0)
	for len(s.Chunks) < events {
		last := s.Chunks[len(s.Chunks)-1]
		last.At += 1_234_567 + int64(len(s.Chunks))*977
		s.Chunks = append(s.Chunks, last)
		s.Answers = append(s.Answers, llm.Answer{At: last.At, Data: s.Answers[0].Data})
	}
	return s
}

// Files of many requests take as much memory as those of few.
func TestMemoryIsFlat(t *testing.T) {
	w, err := artifact.New(config(t.TempDir(), artifact.All))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	s := heavy(16)
	heap := func(n int) uint64 {
		for range n {
			s.Sent += 1e6
			for i := range s.Chunks {
				s.Chunks[i].At += 1e6
			}
			w.Sample(s)
		}
		return testkit.Heap()
	}
	empty := testkit.Heap()
	before := heap(9000)
	after := heap(10000)
	if after > before+4<<20 {
		t.Errorf("the heap grew from %d to %d KiB", before>>10, after>>10)
	}
	if after > empty+48<<20 {
		t.Errorf("the writers hold %d MiB", (after-empty)>>20)
	}
}

func TestSampleAllocatesNothing(t *testing.T) {
	w, err := artifact.New(config(t.TempDir(), artifact.Records|artifact.Raw|artifact.Profile|artifact.VLLM))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	s := heavy(64)
	for range 10 {
		w.Sample(s)
	}
	if n := testing.AllocsPerRun(200, func() { w.Sample(s) }); n > 1 {
		t.Errorf("%v allocations a sample", n)
	}
}

func BenchmarkSample(b *testing.B) {
	for _, f := range []struct {
		name  string
		files artifact.Files
	}{{"default", artifact.Default}, {"parquet", artifact.Parquet}, {"raw", artifact.Raw}, {"profile", artifact.Profile}, {"all", artifact.All}} {
		b.Run(f.name, func(b *testing.B) {
			w, err := artifact.New(config(b.TempDir(), f.files))
			if err != nil {
				b.Fatal(err)
			}
			defer w.Abort()
			s := heavy(256)
			b.ReportAllocs()
			for b.Loop() {
				w.Sample(s)
			}
		})
	}
}

// Whatever a server says, the lines are JSON.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("data: {\"a\":1}\n\n"), []byte("{}"), "no\xff")
	f.Add([]byte(": ping\r\n\r\n"), []byte("x"), "")
	f.Add([]byte("event: a\ndata\n:\n"), []byte{}, "\x00")
	f.Fuzz(func(t *testing.T, answer, payload []byte, text string) {
		dir := t.TempDir()
		w, err := artifact.New(config(dir, artifact.Records|artifact.Raw|artifact.Profile|artifact.VLLM))
		if err != nil {
			t.Fatal(err)
		}
		s := sample(rand.New(rand.NewPCG(1, 1)), 0)
		s.Answers[0].Data, s.Payload, s.Text, s.Conversation, s.Err = answer, payload, text, text, text
		w.Sample(s)
		w.Input(text, payload)
		if err := w.Close(artifact.Outcome{}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"profile_export.jsonl", "profile_export_raw.jsonl", "profile_export.json", "vllm_bench.json"} {
			if data := readFile(t, dir, name); !json.Valid(data) {
				t.Errorf("%s: %s", name, data)
			}
		}
	})
}
