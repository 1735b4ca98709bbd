package openai

import (
	"encoding/json"
	"net/http"
)

// anthropicReply is one response of Anthropic's messages API that is being sent.
type anthropicReply struct {
	x        *exchange
	Model    string          `json:"model"`
	Max      *int            `json:"max_tokens"`
	Messages []message       `json:"messages"`
	System   json.RawMessage `json:"system"`
	Stream   bool            `json:"stream"`
	Tools    []tool          `json:"tools"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`

	n    int
	call string
}

// messages answers /v1/messages.
func (h *Handler) messages(x *exchange) error {
	l := &anthropicReply{x: x}
	if err := x.decode(l); err != nil {
		return err
	}
	switch {
	case l.Max == nil:
		return bad("max_tokens: Field required")
	case len(l.Messages) == 0:
		return bad("messages: at least one message is required")
	}
	var err error
	if l.n, err = answerLength(l.Max); err != nil {
		return err
	}
	x.prompt = contentWords(l.System)
	for _, m := range l.Messages {
		x.prompt += contentWords(m.Content)
	}
	l.call = called(l.Tools, nil)
	x.reasoning = x.thoughts(l.n, l.Thinking.Type == "enabled")
	if l.Stream {
		return x.ended(h.streamLetter(l))
	}
	if err := h.whole(x, l.n); err != nil {
		return err
	}
	content := []any{}
	if k := x.reasoning; k > 0 {
		content = append(content, map[string]any{"type": "thinking", "thinking": text(0, k), "signature": "signed"})
	}
	block := l.block(x.reasoning)
	if rest := l.n - x.reasoning; l.call != "" {
		block["input"] = json.RawMessage(arguments(0, rest, rest))
	} else {
		block["text"] = text(x.reasoning, rest)
	}
	writeJSON(x, http.StatusOK, l.body(append(content, block), l.reason(), l.n))
	return nil
}

func (l *anthropicReply) reason() string {
	if l.call != "" {
		return "tool_use"
	}
	return "max_tokens"
}

func (l *anthropicReply) usage(out int) map[string]int {
	return map[string]int{
		"input_tokens": l.x.prompt - min(l.x.prompt, l.x.script.Cached), "output_tokens": out,
		"cache_read_input_tokens": l.x.script.Cached, "cache_creation_input_tokens": 0,
	}
}

func (l *anthropicReply) body(content []any, reason any, out int) map[string]any {
	return map[string]any{
		"id": "msg_" + l.x.id, "type": "message", "role": "assistant", "model": l.Model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": l.usage(out),
	}
}

// block is the empty content block that token k belongs to.
func (l *anthropicReply) block(k int) map[string]any {
	switch {
	case k < l.x.reasoning:
		return map[string]any{"type": "thinking", "thinking": "", "signature": ""}
	case l.call != "":
		return map[string]any{"type": "tool_use", "id": "toolu_0", "name": l.call, "input": map[string]any{}}
	}
	return map[string]any{"type": "text", "text": ""}
}

// delta is what tokens k to k+count-1 add to their block.
func (l *anthropicReply) delta(k, count int, said string) map[string]any {
	switch {
	case k < l.x.reasoning:
		return map[string]any{"type": "thinking_delta", "thinking": said}
	case l.call != "":
		return map[string]any{"type": "input_json_delta", "partial_json": arguments(k-l.x.reasoning, count, l.n-l.x.reasoning)}
	}
	return map[string]any{"type": "text_delta", "text": said}
}

// send sends an event; l.x.err has the first error.
func (l *anthropicReply) send(kind string, v map[string]any, tokens int) {
	v["type"] = kind
	_ = l.x.event(kind, v, tokens)
}

// streamLetter sends the events of a message: blocks, and in them a delta for each token.
func (h *Handler) streamLetter(l *anthropicReply) error {
	index := -1
	err := h.tokens(l.x, l.n, func(k int, said string, count int) error {
		if k == 0 {
			l.send("message_start", map[string]any{"message": l.body([]any{}, nil, 0)}, 0)
		}
		if k == 0 || k == l.x.reasoning {
			l.next(&index, k)
		}
		l.send("content_block_delta", map[string]any{"index": index, "delta": l.delta(k, count, said)}, count)
		return l.x.err
	})
	if err != nil {
		return err
	}
	l.send("content_block_stop", map[string]any{"index": index}, 0)
	l.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": l.reason(), "stop_sequence": nil}, "usage": l.usage(l.n)}, 0)
	l.send("message_stop", map[string]any{}, 0)
	return l.x.err
}

// next ends the block before token k, if there is one, and begins the one that it belongs to.
func (l *anthropicReply) next(index *int, k int) {
	if *index >= 0 {
		l.send("content_block_delta", map[string]any{"index": *index, "delta": map[string]any{"type": "signature_delta", "signature": "signed"}}, 0)
		l.send("content_block_stop", map[string]any{"index": *index}, 0)
	}
	*index++
	l.send("content_block_start", map[string]any{"index": *index, "content_block": l.block(k)}, 0)
	if *index == 0 {
		l.send("ping", map[string]any{}, 0)
	}
}
