package openai

import (
	"encoding/json"
	"net/http"
	"strings"
)

// request is what chat completions and completions have in common, and what each has of its own.
type request struct {
	Model     string          `json:"model"`
	Messages  []message       `json:"messages"`
	Prompt    json.RawMessage `json:"prompt"`
	Stream    bool            `json:"stream"`
	MaxTokens *int            `json:"max_tokens"`
	MaxNew    *int            `json:"max_completion_tokens"`
	N         *int            `json:"n"`
	Options   struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	Tools     []tool          `json:"tools"`
	Choice    json.RawMessage `json:"tool_choice"`
	Reasoning string          `json:"reasoning_effort"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// defaultTokens is how long an answer is when the request does not say.
const defaultTokens = 16

// maxAnswer bounds one answer, so that a slip of the pen does not stream for days.
const maxAnswer = 1 << 20

func (r *request) length() (int, error) {
	n := defaultTokens
	if r.MaxTokens != nil {
		n = *r.MaxTokens
	}
	if r.MaxNew != nil {
		n = *r.MaxNew
	}
	if n < 1 || n > maxAnswer {
		return 0, bad("max_tokens must be at least 1 and at most %d, got %d", maxAnswer, n)
	}
	return n, nil
}

// contentWords counts the words of a message, whose content is a text or a list of parts.
func contentWords(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return words(text)
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // what is neither has no words
	n := 0
	for _, p := range parts {
		n += words(p.Text)
	}
	return n
}

// answer is one chat completion in the making.
type answer struct {
	x      *exchange
	r      *request
	usage  usage
	object string
	prefix string
}

// chat answers /v1/chat/completions.
func (h *Handler) chat(x *exchange) error {
	var r request
	if err := x.decode(&r); err != nil {
		return err
	}
	switch {
	case r.Model == "":
		return bad("you must provide a model parameter")
	case len(r.Messages) == 0:
		return bad("[] is too short - 'messages'")
	}
	n, err := r.length()
	if err != nil {
		return err
	}
	a := &answer{x: x, r: &r, object: "chat.completion", prefix: "chatcmpl-"}
	for _, m := range r.Messages {
		a.usage.Prompt += contentWords(m.Content)
	}
	if r.Stream {
		a.object = "chat.completion.chunk"
		return x.streamError(h.streamChat(a, n))
	}
	text, err := h.text(x, n)
	if err != nil {
		return err
	}
	a.count(n)
	msg := map[string]any{"role": "assistant", "content": text}
	finish := "length"
	if call := r.call(); call != nil {
		msg["content"], msg["tool_calls"], finish = nil, []any{call}, "tool_calls"
	}
	if r.Reasoning != "" {
		msg["reasoning_content"] = "thinking"
	}
	writeJSON(x, http.StatusOK, a.body([]any{map[string]any{"index": 0, "message": msg, "logprobs": nil, "finish_reason": finish}}, true))
	return nil
}

func (a *answer) count(n int) {
	a.usage.Completion = n
	a.usage.Total = a.usage.Prompt + n
}

func (a *answer) body(choices []any, withUsage bool) map[string]any {
	v := map[string]any{"id": a.prefix + a.x.id, "object": a.object, "created": a.x.received.Unix(), "model": a.r.Model, "choices": choices}
	if withUsage {
		v["usage"] = a.usage
	}
	return v
}

// call is the tool call that a request with tools, which are not turned off, is answered with.
func (r *request) call() map[string]any {
	if len(r.Tools) == 0 || strings.Trim(string(r.Choice), `"`) == "none" {
		return nil
	}
	return map[string]any{"index": 0, "id": "call_0", "type": "function", "function": map[string]any{"name": r.Tools[0].Function.Name, "arguments": "{}"}}
}

// streamChat sends a chunk for each token; the first carries the role too, so that the first event is the first token.
func (h *Handler) streamChat(a *answer, n int) error {
	call := a.r.call()
	err := h.tokens(a.x.req.Context(), a.x, n, func(k int, token string) error {
		delta := map[string]any{"content": token}
		switch {
		case call != nil && k == 0:
			delta = map[string]any{"tool_calls": []any{call}}
		case call != nil:
			delta = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "function": map[string]any{"arguments": ""}}}}
		case a.r.Reasoning != "" && k < n/2:
			delta = map[string]any{"reasoning_content": token}
		}
		if k == 0 {
			delta["role"] = "assistant"
		}
		a.count(k + 1)
		choice := map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": nil}
		return a.x.event("", a.body([]any{choice}, a.r.Options.Continuous))
	})
	if err != nil {
		return err
	}
	finish := "length"
	if call != nil {
		finish = "tool_calls"
	}
	return a.end(map[string]any{"index": 0, "delta": map[string]any{}, "logprobs": nil, "finish_reason": finish})
}

// end sends the last choice, the usage where it was asked for, and the end of the stream.
func (a *answer) end(choice map[string]any) error {
	if err := a.x.event("", a.body([]any{choice}, false)); err != nil {
		return err
	}
	if a.r.Options.Usage {
		if err := a.x.event("", a.body([]any{}, true)); err != nil {
			return err
		}
	}
	return a.x.done()
}

// completions answers /v1/completions.
func (h *Handler) completions(x *exchange) error {
	var r request
	if err := x.decode(&r); err != nil {
		return err
	}
	if r.Model == "" {
		return bad("you must provide a model parameter")
	}
	n, err := r.length()
	if err != nil {
		return err
	}
	a := &answer{x: x, r: &r, object: "text_completion", prefix: "cmpl-"}
	a.usage.Prompt = promptWords(r.Prompt)
	choice := func(text string, finish any) map[string]any {
		return map[string]any{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}
	}
	if r.Stream {
		err := h.tokens(x.req.Context(), x, n, func(k int, token string) error {
			a.count(k + 1)
			return x.event("", a.body([]any{choice(token, nil)}, r.Options.Continuous))
		})
		if err != nil {
			return x.streamError(err)
		}
		return a.end(choice("", "length"))
	}
	text, err := h.text(x, n)
	if err != nil {
		return err
	}
	a.count(n)
	writeJSON(x, http.StatusOK, a.body([]any{choice(text, "length")}, true))
	return nil
}

// promptWords counts a prompt: a text, a list of texts, or a list of token ids.
func promptWords(raw json.RawMessage) int {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return words(text)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // what is neither has no words
	n := 0
	for _, item := range list {
		if json.Unmarshal(item, &text) == nil {
			n += words(text)
		} else {
			n++
		}
	}
	return n
}
