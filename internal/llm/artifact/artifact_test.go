package artifact_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/artifact"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/record"
)

// sample is the n-th of a run against a server that streams.
func sample(r *rand.Rand, n int) *llm.Sample {
	at := clock.Now() + int64(n)*3e6
	s := &llm.Sample{
		Index: uint64(n), Conversation: fmt.Sprintf("session_%06d", n/2), Turn: n % 2, RequestID: fmt.Sprint("r", n), Slot: uint32(n % 4),
		Due: at, Sent: at + 1000, Headers: at + 5e6, Asked: 16, Streamed: true,
		Input:   llm.Count{Tokens: 64, From: llm.Tokenizer},
		Usage:   &llm.Usage{Prompt: 64, Completion: 16, Total: 80, Reasoning: -1, Cached: 8},
		Payload: fmt.Appendf(nil, `{"model":"m","stream":true,"messages":[{"role":"user","content":"question %d <&>"}]}`, n),
	}
	now := at + 20e6 + r.Int64N(5e6)
	for i := range 16 {
		text := fmt.Sprintf(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" w%d"}}]}`, i)
		s.Answers = append(s.Answers, llm.Answer{At: now, Data: []byte("data: " + text + "\n\n")})
		s.Chunks = append(s.Chunks, llm.Chunk{At: now, Kind: llm.Text, Tokens: 1})
		now += 1e6 + r.Int64N(1e6)
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
		if err := w.Sample(s); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			if err := w.Input(s.Conversation, s.Payload, s.Payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := c.Metrics()
	from, to := c.Span()
	return artifact.Outcome{
		Metrics: m, Begin: clock.Wall(from), End: clock.Wall(to), Errors: []artifact.Failure{{500, "server", "no", uint64(n / 10)}},
		Slices:  []artifact.Slice{{Begin: clock.Wall(from), End: clock.Wall(from) + 1e9, Whole: true, Metrics: m}, {Begin: clock.Wall(from) + 1e9, End: clock.Wall(to), Metrics: m}},
		Windows: []int64{clock.Wall(from), clock.Wall(to)},
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("HH_DIR"); keep != "" {
		dir = keep
	}
	w, err := artifact.New(config(dir, artifact.All))
	if err != nil {
		t.Fatal(err)
	}
	o := fill(t, w, 200)
	if err := w.Close(o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"profile_export_aiperf.json", "inputs.json", "profile_export.json", "profile_export_genai_perf.json", "vllm_bench.json", "profile_export_aiperf_timeslices.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(data) {
			t.Errorf("%s is no JSON: %.300s", name, data)
		}
	}
}
