package aiperf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/artifact"
	"github.com/redline-bench/redline/internal/llm/metric"
	rec "github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// written is what went into a folder of files.
type written struct {
	metrics        []result.Metric
	failed, events int
}

// stats are the numbers of a metric by AIPerf's names.
func (w *written) stats(tag string) map[string]float64 {
	m, ok := metric.Find(w.metrics, tag)
	if !ok {
		return nil
	}
	out := map[string]float64{"avg": m.Avg, "min": m.Min, "max": m.Max, "std": m.Std}
	for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99} {
		if v, ok := m.Find(p); ok {
			out[fmt.Sprintf("p%g", p)] = v
		}
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(math.Abs(a), math.Abs(b)) }

func record(t *testing.T, dir string, n int) *written { return recordLevel(t, dir, n, 4) }

// recordLevel writes all files of a level whose responses are invented: streamed chats, some with reasoning, some
// refused.
func recordLevel(t *testing.T, dir string, n, concurrency int) *written {
	t.Helper()
	w, err := artifact.New(artifact.Config{
		Dir: dir, Files: artifact.All, Version: "test", Model: "m", URL: "http://localhost:8000", EndpointType: "chat", Path: "/v1/chat/completions",
		Streaming: true, Concurrency: concurrency, Seed: 7, Command: "redline llm -m m", Run: "run", Slice: 1e9,
		Headers: map[string]string{"Content-Type": "application/json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := &written{}
	c := metric.New(metric.Options{})
	r := rand.New(rand.NewPCG(uint64(n), uint64(concurrency)))
	for i := range n {
		s := sample(r, i, concurrency)
		c.Add(s)
		out.events += len(s.Answers)
		if s.Class != rec.OK {
			out.failed++
		}
		w.Sample(s)
		if i%2 == 1 {
			w.Input(s.Conversation, s.Payload, s.Payload)
		}
	}
	out.metrics = c.Metrics()
	from, to := c.Span()
	w.Slice(&metric.Slice{Begin: clock.Wall(from), End: clock.Wall(from) + 1e9, Whole: true, Metrics: out.metrics})
	w.Slice(&metric.Slice{Begin: clock.Wall(from) + 1e9, End: clock.Wall(to), Metrics: out.metrics})
	err = w.Close(artifact.Outcome{
		Metrics: out.metrics, Begin: clock.Wall(from), End: clock.Wall(to), Windows: []int64{clock.Wall(from), clock.Wall(to)},
		Errors: []artifact.Failure{{Code: 500, Type: "server", Message: "no", Count: uint64(out.failed)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sample(r *rand.Rand, n, concurrency int) *llm.Sample {
	at := clock.Now() + int64(n)*30e6/int64(concurrency)
	s := &llm.Sample{
		Index: uint64(n), Conversation: fmt.Sprintf("session_%06d", n/2), Turn: n % 2, RequestID: fmt.Sprint("r", n), Slot: uint32(n % concurrency),
		Due: at, Sent: at + 1000, Headers: at + 5e6, Asked: 16, Streamed: true,
		Input:   llm.Count{Tokens: 60 + n%9, From: llm.Tokenizer},
		Output:  llm.Count{Tokens: 16, From: llm.Server},
		Usage:   &llm.Usage{Prompt: 64, Completion: 16, Total: 80, Reasoning: -1, Cached: 8},
		Payload: fmt.Appendf(nil, `{"model":"m","stream":true,"messages":[{"role":"user","content":"question %d <&> \u00e9"}]}`, n),
	}
	now := at + 20e6 + r.Int64N(5e6)*int64(concurrency)
	for i := range 16 {
		text := fmt.Sprintf(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" w%d"}}]}`, i)
		s.Answers = append(s.Answers, llm.Answer{At: now, Data: []byte("data: " + text + "\n\n")})
		s.Chunks = append(s.Chunks, llm.Chunk{At: now, Kind: llm.Text, Tokens: 1})
		now += 1e6 + r.Int64N(1e6)
	}
	s.Answers = append(s.Answers, llm.Answer{At: now, Data: []byte("data: [DONE]\n\n")})
	s.Last, s.End = now, now
	if n%10 == 9 {
		s.Class, s.Code, s.Err = rec.Server, 500, "the server said \"no\"\n"
		s.Chunks, s.Answers = nil, s.Answers[:1]
	}
	return s
}

// writeTokenizer writes a tokenizer in Hugging Face's form, one token for each byte, so that none need be
// downloaded.
func writeTokenizer(t *testing.T, dir string) {
	t.Helper()
	vocabulary := map[string]int{"<s>": 256}
	moved := rune(256)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			r = moved
			moved++
		}
		vocabulary[string(r)] = b
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0", "pre_tokenizer": bytes, "decoder": bytes, "added_tokens": []any{},
			"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}},
		},
		"tokenizer_config.json": map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<s>", "model_max_length": 1_000_000},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
