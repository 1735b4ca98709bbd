package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/testkit"
)

func pacer(t *testing.T, tokens pause.Tokens) *pause.Pacer {
	t.Helper()
	p, err := pause.NewPacer(tokens, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func post(t *testing.T, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	clock := pause.NewByTimers()
	defer clock.Close()
	h, err := New(Config{Clock: clock, Pace: pacer(t, pause.Tokens{First: time.Millisecond})})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// events cuts a stream into the data of its events.
func events(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}

type chunk struct {
	Object  string
	Choices []struct {
		Text    string
		Message struct{ Content string }
		Delta   struct {
			Role, Content    string
			ReasoningContent string            `json:"reasoning_content"`
			ToolCalls        []json.RawMessage `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	Error *struct{ Message string }
}

func decode(t *testing.T, text string) chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

const hello = `"model":"m","messages":[{"role":"user","content":"hello big world"}]`

func TestChat(t *testing.T) {
	c := decode(t, post(t, "/v1/chat/completions", `{`+hello+`,"max_tokens":3}`).Body.String())
	if c.Object != "chat.completion" || c.Choices[0].Message.Content != "tok0 tok1 tok2" || c.Usage.Prompt != 3 || c.Usage.Completion != 3 || c.Usage.Total != 6 {
		t.Errorf("%+v, usage %+v", c, c.Usage)
	}
}

func TestChatStream(t *testing.T) {
	w := post(t, "/v1/chat/completions", `{`+hello+`,"max_completion_tokens":2,"stream":true,"stream_options":{"include_usage":true}}`)
	got := events(w.Body.String())
	if len(got) != 5 || got[4] != "[DONE]" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d events: %v", len(got), got)
	}
	if c := decode(t, got[0]); c.Choices[0].Delta.Role != "assistant" || c.Choices[0].Delta.Content != "tok0" || c.Usage != nil {
		t.Errorf("the first event is not the first token: %s", got[0])
	}
	if c := decode(t, got[2]); *c.Choices[0].FinishReason != "length" {
		t.Errorf("no finish: %s", got[2])
	}
	if c := decode(t, got[3]); len(c.Choices) != 0 || c.Usage.Total != 5 {
		t.Errorf("no usage: %s", got[3])
	}
}

func TestErrorsInTheStream(t *testing.T) {
	got := events(post(t, "/v1/completions", `{"model":"m","prompt":"x","max_tokens":5,"stream":true}`, "X-Redline-Stream", "error=2").Body.String())
	if len(got) != 3 || decode(t, got[2]).Error == nil {
		t.Errorf("events %v", got)
	}
}

func TestWrongRequests(t *testing.T) {
	for body, want := range map[string]int{
		`{`:                              http.StatusBadRequest,
		`{"messages":[{}]}`:              http.StatusBadRequest,
		`{"model":"m","messages":[]}`:    http.StatusBadRequest,
		`{` + hello + `,"max_tokens":0}`: http.StatusBadRequest,
	} {
		w := post(t, "/v1/chat/completions", body)
		if w.Code != want || decode(t, w.Body.String()).Error == nil {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if w := post(t, "/v1/nope", `{}`); w.Code != http.StatusNotFound {
		t.Errorf("unknown path: %d", w.Code)
	}
}

func TestPaceIsKept(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		start := time.Now()
		post(t, "/v1/completions", `{"model":"m","prompt":"x","max_tokens":4}`, "X-Redline-TTFT", "4ms", "X-Redline-ITL", "2ms")
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("4 tokens took %v, want 4 ms + 3 * 2 ms", took)
		}
	})
}

func TestPingsFillAWait(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		const body = `{` + hello + `,"max_tokens":4,"stream":true}`
		pinged := post(t, "/v1/chat/completions", body, "X-Redline-Stream", "ping=2ms", "X-Redline-TTFT", "9ms").Body.String()
		if n := strings.Count(pinged, ": ping\n\n"); n != 4 {
			t.Errorf("%d pings in 9 ms: %s", n, pinged)
		}
	})
}

func TestOtherInterfaces(t *testing.T) {
	for path, c := range map[string]struct{ body, want string }{
		"/v1/embeddings":   {`{"model":"m","input":["a b","c"],"dimensions":2}`, `"total_tokens":3`},
		"/v1/responses":    {`{"model":"m","input":"a b","max_output_tokens":2,"stream":true}`, `event: response.completed`},
		"/v1/messages":     {`{"model":"m","max_tokens":2,"messages":[{"role":"user","content":[{"type":"text","text":"a b c"}]}],"stream":true}`, `event: message_stop`},
		"/generate_stream": {`{"inputs":"a","parameters":{"max_new_tokens":2}}`, `"generated_text":"tok0 tok1"`},
		"/v1/rerank":       {`{"query":"a b","documents":["a","b a"]}`, `"relevance_score":1`},
	} {
		if w := post(t, path, c.body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
