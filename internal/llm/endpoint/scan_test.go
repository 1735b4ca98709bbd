package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/testkit"
)

// chunkJSON is an OpenAI chunk as the standard library reads it.
type chunkJSON struct {
	Object  json.RawMessage `json:"object"`
	Choices []struct {
		Delta struct {
			Content          *string `json:"content"`
			ReasoningContent *string `json:"reasoning_content"`
		} `json:"delta"`
		Text         *string `json:"text"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     *int `json:"prompt_tokens"`
		Completion *int `json:"completion_tokens"`
	} `json:"usage"`
}

// What the scanner calls JSON is JSON, and the other way around; what it reads out of a chunk is what the standard
// library reads.
func FuzzChunk(f *testing.F) {
	for _, s := range []string{
		`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}`,
		`{"choices":[{"delta":{"content":"\u00e9\ud83d\ude00\n\"\\"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`{"choices":[{"text":"a"},{"text":"b"}]}`, `{"choices":[]}`, `{}`, `[]`, `null`, ` { "choices" : [ ] } `, `{"choices":[{}],}`, `{"a":01}`, `{"a":1e5,"b":-0.5}`,
		`{"choices":[{"delta":{"reasoning_content":"r"}}]}`, `{"a":[[[[]]]]}`, "{\"a\":\"\x01\"}", `{"a":"\x"}`, `{"a":tru}`, `{"a" 1}`, `"x`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scan{b: data}
		s.skip()
		if ok := s.end(); ok != json.Valid(data) && strings.Count(string(data), "[")+strings.Count(string(data), "{") < maxDepth {
			t.Fatalf("the scanner says %v of %q", ok, data)
		}
		if !utf8.Valid(data) {
			return // the library replaces what is not UTF-8, the scanner leaves it alone
		}
		var want chunkJSON
		if json.Unmarshal(data, &want) != nil || ambiguous(data) {
			return
		}
		var a Answer
		a.Reset()
		a.Streamed = true
		c := common{Options: Options{Stream: true}}
		c.openAI(&a, append(append([]byte("data: "), bytes.ReplaceAll(data, []byte("\n"), []byte(" "))...), "\n\n"...), 1)
		if a.Fault != "" {
			return
		}
		var text, thought string
		ended := false
		for _, ch := range want.Choices {
			for _, p := range []*string{ch.Delta.Content, ch.Text} {
				if p != nil {
					text += *p
				}
			}
			if ch.Delta.ReasoningContent != nil {
				thought += *ch.Delta.ReasoningContent
			}
			ended = ended || ch.FinishReason != nil && *ch.FinishReason != ""
		}
		if sorted(text) != sorted(string(a.Text)) || thought != string(a.Thought) || ended != a.Ended {
			t.Fatalf("%q: %q %q %v, want %q %q %v", data, a.Text, a.Thought, a.Ended, text, thought, ended)
		}
		if u := want.Usage; u != nil && u.Prompt != nil && *u.Prompt >= 0 && a.Usage.Prompt != *u.Prompt {
			t.Fatalf("%q: %d prompt tokens, want %d", data, a.Usage.Prompt, *u.Prompt)
		}
	})
}

// sorted makes texts comparable whose parts may come in another order.
func sorted(s string) string {
	b := []rune(s)
	for i := range b {
		for k := i; k > 0 && b[k] < b[k-1]; k-- {
			b[k], b[k-1] = b[k-1], b[k]
		}
	}
	return string(b)
}

// ambiguous reports whether the two readers may differ rightly: names in another case or written with escapes, twice, or
// fields that only the scanner knows.
func ambiguous(data []byte) bool {
	lower := bytes.ToLower(data)
	for _, name := range []string{"choices", "delta", "content", "text", "finish_reason", "usage", "prompt_tokens", "reasoning_content", "object"} {
		quoted := []byte(`"` + name + `"`)
		if n := bytes.Count(lower, quoted); n != bytes.Count(data, quoted) || n > 1 {
			return true
		}
	}
	for _, name := range []string{"message", "reasoning", "tool_calls", "refusal", "function_call", "input_tokens", "error", "\\u"} {
		if bytes.Contains(lower, []byte(name)) {
			return true
		}
	}
	return false
}

// No event, whatever it holds, makes a reader fail or take forever.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[]}\n\n"))
	f.Add([]byte("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte(`{"output":[{"type":"message","content":[{"text":"x"}]}]}`))
	f.Add([]byte("\x2a\x05\x0a\x03abc\x32\x04abcd"))
	var all []Endpoint
	for _, o := range []Options{
		{Kind: Chat},
		{Kind: Completions},
		{Kind: Responses},
		{Kind: Embeddings},
		{Kind: Messages},
		{Kind: CohereRank},
		{Kind: TGI},
		{Kind: Generate},
		{Kind: Raw},
		{Kind: Template, Body: "{}", ResponsePath: "a.0.b"},
	} {
		e, err := New(o)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, e)
	}
	all = append(all, &kserve{text: true}, &kserve{})
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, e := range all {
			var a Answer
			a.Reset()
			e.Event(&a, data, 1)
			e.Event(&a, data, 2)
			_ = e.End(&a)
		}
	})
}

var sample = []byte(`data: {"id":"chatcmpl-7f3a9c1e5b2d4f60","object":"chat.completion.chunk","created":1731652800,"model":"meta-llama/Llama-3.1-8B-Instruct",` +
	`"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}` + "\n\n")

func TestReadingAChunkAllocatesNothing(t *testing.T) {
	c := &chat{common{Options: Options{Stream: true}}}
	var a Answer
	step := func() {
		a.Reset()
		for range 100 {
			c.Event(&a, sample, 1)
		}
	}
	step()
	if n := testkit.Allocs(step); n > 0 {
		t.Errorf("%v allocations for 100 chunks", n)
	}
	if len(a.Chunks) != 100 || a.Chunks[0].Kind != llm.Text {
		t.Errorf("%d chunks, %q", len(a.Chunks), a.Fault)
	}
}

func BenchmarkChunk(b *testing.B) {
	b.Run("scan", func(b *testing.B) {
		c := &chat{common{Options: Options{Stream: true}}}
		var a Answer
		b.SetBytes(int64(len(sample)))
		b.ReportAllocs()
		for b.Loop() {
			a.Reset()
			c.Event(&a, sample, 1)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(sample)))
		b.ReportAllocs()
		data := sample[6:]
		for b.Loop() {
			var c chunkJSON
			if err := json.Unmarshal(data, &c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
