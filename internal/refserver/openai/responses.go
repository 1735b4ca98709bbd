package openai

import (
	"encoding/json"
	"net/http"
	"strings"
)

// reply is one answer of the responses interface in the making.
type reply struct {
	x      *exchange
	Model  string          `json:"model"`
	Input  json.RawMessage `json:"input"`
	Stream bool            `json:"stream"`
	Max    *int            `json:"max_output_tokens"`
	events int
}

// responses answers /v1/responses.
func (h *Handler) responses(x *exchange) error {
	r := &reply{x: x}
	if err := x.decode(r); err != nil {
		return err
	}
	n, err := (&request{MaxTokens: r.Max}).length()
	if err != nil {
		return err
	}
	if r.Stream {
		return x.streamError(h.streamResponse(r, n))
	}
	text, err := h.text(x, n)
	if err != nil {
		return err
	}
	writeJSON(x, http.StatusOK, r.body("completed", text, n))
	return nil
}

// body is the whole response as it stands.
func (r *reply) body(status, text string, done int) map[string]any {
	v := map[string]any{
		"id": "resp_" + r.x.id, "object": "response", "created_at": r.x.received.Unix(), "status": status, "model": r.Model,
		"output": []any{}, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{},
		"parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": []any{}, "top_p": 1.0,
	}
	if status == "completed" {
		v["output"] = []any{r.item(status, part(text))}
		in := promptWords(r.Input)
		v["usage"] = map[string]any{
			"input_tokens": in, "output_tokens": done, "total_tokens": in + done,
			"input_tokens_details": map[string]int{"cached_tokens": 0}, "output_tokens_details": map[string]int{"reasoning_tokens": 0},
		}
	}
	return v
}

// item is the one message of the output.
func (r *reply) item(status string, parts ...any) map[string]any {
	if parts == nil {
		parts = []any{}
	}
	return map[string]any{"type": "message", "id": "msg_" + r.x.id, "status": status, "role": "assistant", "content": parts}
}

func part(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
}

// send sends an event under its number.
func (r *reply) send(kind string, v map[string]any) error {
	v["type"], v["sequence_number"] = kind, r.events
	r.events++
	return r.x.event(kind, v)
}

// within adds where in the output an event belongs.
func (r *reply) within(v map[string]any) map[string]any {
	v["item_id"], v["output_index"], v["content_index"] = "msg_"+r.x.id, 0, 0
	return v
}

// streamResponse sends the events around the text, and one for each token.
func (h *Handler) streamResponse(r *reply, n int) error {
	type event struct {
		kind string
		v    map[string]any
	}
	all := func(events ...event) error {
		for _, e := range events {
			if err := r.send(e.kind, e.v); err != nil {
				return err
			}
		}
		return nil
	}
	if err := all(event{"response.created", map[string]any{"response": r.body("in_progress", "", 0)}},
		event{"response.in_progress", map[string]any{"response": r.body("in_progress", "", 0)}},
		event{"response.output_item.added", map[string]any{"output_index": 0, "item": r.item("in_progress")}},
		event{"response.content_part.added", r.within(map[string]any{"part": part("")})}); err != nil {
		return err
	}
	var b strings.Builder
	err := h.tokens(r.x.req.Context(), r.x, n, func(_ int, token string) error {
		b.WriteString(token)
		return r.send("response.output_text.delta", r.within(map[string]any{"delta": token, "logprobs": []any{}}))
	})
	if err != nil {
		return err
	}
	text := b.String()
	return all(event{"response.output_text.done", r.within(map[string]any{"text": text, "logprobs": []any{}})},
		event{"response.content_part.done", r.within(map[string]any{"part": part(text)})},
		event{"response.output_item.done", map[string]any{"output_index": 0, "item": r.item("completed", part(text))}},
		event{"response.completed", map[string]any{"response": r.body("completed", text, n)}})
}
