package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kinds lists the types of a stream's events.
func kinds(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			out = append(out, strings.TrimSpace(kind))
		}
	}
	return out
}

func TestScriptedChat(t *testing.T) {
	const body = `{` + hello + `,"max_tokens":4,"stream":true}`
	run := func(script string) []string {
		return events(post(t, "/v1/chat/completions", body, "X-Redline-Stream", script).Body.String())
	}
	if got := run("chunk=3,nodone"); len(got) != 3 || decode(t, got[0]).Choices[0].Delta.Content != "tok0 tok1 tok2" {
		t.Errorf("chunk: %v", got)
	}
	got := run("reasoning=1,chunk=2,usage")
	if c := decode(t, got[0]); c.Choices[0].Delta.ReasoningContent != "tok0" || c.Usage.Completion != 1 || c.Usage.Details.Reasoning != 1 {
		t.Errorf("reasoning: %v", got)
	}
	if c := decode(t, got[1]); c.Choices[0].Delta.Content != " tok1 tok2" || c.Usage.Completion != 3 {
		t.Errorf("answer after reasoning: %v", got)
	}
	if got := run("role"); len(got) != 7 || decode(t, got[0]).Choices[0].Delta.Role != "assistant" || decode(t, got[0]).Choices[0].Delta.Content != "" {
		t.Errorf("role: %v", got)
	}
	if got := run("error=2"); len(got) != 3 || decode(t, got[2]).Error == nil {
		t.Errorf("error: %v", got)
	}
	if got := run("stop=2"); len(got) != 2 {
		t.Errorf("stop: %v", got)
	}
	if got := run("empty"); len(got) != 0 {
		t.Errorf("empty: %v", got)
	}
	for script, want := range map[string]int{"status=429": http.StatusTooManyRequests, "nonsense": http.StatusBadRequest, "error=0": http.StatusInternalServerError} {
		if w := post(t, "/v1/chat/completions", body, "X-Redline-Stream", script); w.Code != want {
			t.Errorf("%s: %d", script, w.Code)
		}
	}
}

func TestCutEndsTheConnection(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Error("the handler was not aborted")
		}
	}()
	post(t, "/v1/completions", `{"model":"m","prompt":"x","stream":true}`, "X-Redline-Stream", "cut=1")
}

func TestSeveralChoices(t *testing.T) {
	got := events(post(t, "/v1/completions", `{"model":"m","prompt":"x","max_tokens":2,"n":2,"stream":true,"stream_options":{"include_usage":true}}`).Body.String())
	if len(got) != 8 || decode(t, got[6]).Usage.Completion != 4 {
		t.Errorf("%v", got)
	}
	if c := decode(t, post(t, "/v1/chat/completions", `{`+hello+`,"n":3}`).Body.String()); len(c.Choices) != 3 {
		t.Errorf("%d choices", len(c.Choices))
	}
}

func TestToolArgumentsAreJSON(t *testing.T) {
	const tools = `,"tools":[{"type":"function","function":{"name":"look"}}]`
	for _, n := range []string{"1", "2", "5"} {
		var text strings.Builder
		name := ""
		for _, e := range events(post(t, "/v1/chat/completions", `{`+hello+tools+`,"max_tokens":`+n+`,"stream":true}`).Body.String()) {
			if e == "[DONE]" {
				break
			}
			for _, c := range decode(t, e).Choices[0].Delta.ToolCalls {
				var call struct {
					Function struct{ Name, Arguments string }
				}
				if err := json.Unmarshal(c, &call); err != nil {
					t.Fatal(err)
				}
				name += call.Function.Name
				text.WriteString(call.Function.Arguments)
			}
		}
		if name != "look" || !json.Valid([]byte(text.String())) {
			t.Errorf("%s tokens: call of %q with %q", n, name, text.String())
		}
	}
}

func TestResponsesSendTheirEventsInOrder(t *testing.T) {
	const head = `{"model":"m","input":[{"role":"user","content":"a b"}],"max_output_tokens":2,"stream":true`
	for body, want := range map[string][]string{
		head + `}`: {
			"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
			"response.output_text.delta", "response.output_text.delta", "response.output_text.done", "response.content_part.done",
			"response.output_item.done", "response.completed",
		},
		head + `,"reasoning":{"effort":"low"},"tools":[{"type":"function","name":"look"}]}`: {
			"response.created", "response.in_progress", "response.output_item.added", "response.reasoning_summary_part.added",
			"response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
			"response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
			"response.function_call_arguments.done", "response.output_item.done", "response.completed",
		},
	} {
		if diff := cmp.Diff(want, kinds(post(t, "/v1/responses", body).Body.String())); diff != "" {
			t.Error(diff)
		}
	}
	got := kinds(post(t, "/v1/responses", head+`}`, "X-Redline-Stream", "error=1").Body.String())
	if diff := cmp.Diff([]string{"response.output_text.delta", "error", "response.failed"}, got[4:]); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesSendTheirEventsInOrder(t *testing.T) {
	const head = `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"a"}],"stream":true`
	for body, want := range map[string][]string{
		head + `}`: {
			"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
		},
		head + `,"thinking":{"type":"enabled"}}`: {
			"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_stop",
			"content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop",
		},
	} {
		if diff := cmp.Diff(want, kinds(post(t, "/v1/messages", body).Body.String())); diff != "" {
			t.Error(diff)
		}
	}
	got := post(t, "/v1/messages", head+`}`, "X-Redline-Stream", "error=1").Body.String()
	if !strings.HasSuffix(got, "event: error\ndata: {\"error\":{\"message\":\"failed on purpose\",\"type\":\"api_error\"},\"type\":\"error\"}\n\n") {
		t.Error(got)
	}
}

func TestRankings(t *testing.T) {
	for path, c := range map[string]struct{ body, want string }{
		"/v1/rerank":  {`{"query":"a b","documents":["a",{"text":"b a"}],"top_n":1}`, `"results":[{"document":{"text":"b a"},"index":1,"relevance_score":1}]`},
		"/v2/rerank":  {`{"model":"m","query":"a b","documents":["a","b a"]}`, `"results":[{"index":1,"relevance_score":1},{"index":0,"relevance_score":0.5}]`},
		"/rerank":     {`{"query":"a b","texts":["a","b a"],"return_text":true}`, `[{"index":1,"score":1,"text":"b a"},{"index":0,"score":0.5,"text":"a"}]`},
		"/v1/ranking": {`{"model":"m","query":{"text":"a b"},"passages":[{"text":"a"},{"text":"b a"}]}`, `"rankings":[{"index":1,"logit":1},{"index":0,"logit":0.5}]`},
		"/":           {`{"inputs":"a","parameters":{"max_new_tokens":2}}`, `[{"generated_text":"tok0 tok1"}]`},
	} {
		if w := post(t, path, c.body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
