package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// reply is one response of the responses API that is being sent.
type reply struct {
	x         *exchange
	Model     string          `json:"model"`
	Input     json.RawMessage `json:"input"`
	Stream    bool            `json:"stream"`
	Max       *int            `json:"max_output_tokens"`
	Tools     []tool          `json:"tools"`
	Choice    json.RawMessage `json:"tool_choice"`
	Reasoning *struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`

	n      int
	events int
	output []any // finished items
}

// responses answers /v1/responses.
func (h *Handler) responses(x *exchange) error {
	r := &reply{x: x}
	if err := x.decode(r); err != nil {
		return err
	}
	var err error
	if r.n, err = answerLength(r.Max); err != nil {
		return err
	}
	x.prompt = promptWords(r.Input)
	x.reasoning = x.thoughts(r.n, r.Reasoning != nil && r.Reasoning.Effort != "" && r.Reasoning.Effort != "none")
	if r.Stream {
		return r.ended(h.streamResponse(r))
	}
	if err := h.whole(x, r.n); err != nil {
		return err
	}
	for _, i := range r.items() {
		r.output = append(r.output, r.item(i, "completed", i.said(r.n)))
	}
	writeJSON(x, http.StatusOK, r.body("completed"))
	return nil
}

// ended sends an error within a stream in the form of this API.
func (r *reply) ended(err error) error {
	e, ok := errors.AsType[*apiError](err)
	if !ok || !r.x.out.Started() {
		return r.x.ended(err)
	}
	failed := r.body("failed")
	failed["error"] = map[string]any{"code": e.kind, "message": e.text}
	r.send("error", map[string]any{"code": e.kind, "message": e.text, "param": nil}, 0)
	r.send("response.failed", map[string]any{"response": failed}, 0)
	return r.x.err
}

// part is an item of the output and the tokens that it has.
type part struct {
	index       int
	kind        string // reasoning, message or function_call
	name        string
	first, last int
}

// items lists what the response is made of.
func (r *reply) items() []part {
	var list []part
	if k := r.x.reasoning; k > 0 {
		list = append(list, part{kind: "reasoning", last: k})
	}
	rest := part{index: len(list), kind: "message", first: r.x.reasoning, last: r.n}
	if rest.name = called(r.Tools, r.Choice); rest.name != "" {
		rest.kind = "function_call"
	}
	return append(list, rest)
}

// said is the text of an item.
func (p part) said(n int) string {
	if p.kind == "function_call" {
		return arguments(0, p.last-p.first, n-p.first)
	}
	return text(p.first, p.last-p.first)
}

func (r *reply) itemID(p part) string {
	return map[string]string{"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}[p.kind] + r.x.id
}

// item is the current state of an output item; an empty text means none yet.
func (r *reply) item(p part, status, said string) map[string]any {
	v := map[string]any{"type": p.kind, "id": r.itemID(p), "status": status}
	content := []any{}
	switch p.kind {
	case "function_call":
		v["call_id"], v["name"], v["arguments"] = "call_0", p.name, said
		return v
	case "reasoning":
		if said != "" {
			content = append(content, map[string]any{"type": "summary_text", "text": said})
		}
		v["summary"] = content
		return v
	}
	if said != "" {
		content = append(content, outputText(said))
	}
	v["role"], v["content"] = "assistant", content
	return v
}

func outputText(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// body is the current state of the whole response.
func (r *reply) body(status string) map[string]any {
	v := map[string]any{
		"id": "resp_" + r.x.id, "object": "response", "created_at": r.x.received.Unix(), "status": status, "model": r.Model,
		"output": append([]any{}, r.output...), "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{},
		"parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "usage": nil,
	}
	if status == "completed" {
		v["usage"] = map[string]any{
			"input_tokens": r.x.prompt, "output_tokens": r.n, "total_tokens": r.x.prompt + r.n,
			"input_tokens_details":  map[string]int{"cached_tokens": r.x.script.Cached},
			"output_tokens_details": map[string]int{"reasoning_tokens": r.x.reasoning},
		}
	}
	return v
}

// send sends an event under its number; r.x.err has the first error.
func (r *reply) send(kind string, v map[string]any, tokens int) {
	v["type"], v["sequence_number"] = kind, r.events
	r.events++
	_ = r.x.event(kind, v, tokens)
}

// within adds where in the output an event belongs.
func (r *reply) within(p part, v map[string]any) map[string]any {
	v["item_id"], v["output_index"] = r.itemID(p), p.index
	switch p.kind {
	case "reasoning":
		v["summary_index"] = 0
	case "message":
		v["content_index"] = 0
	}
	return v
}

// names are the events about the content of an item.
func (p part) names() (added, delta, done, closed string) {
	switch p.kind {
	case "reasoning":
		return "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done"
	case "function_call":
		return "", "response.function_call_arguments.delta", "response.function_call_arguments.done", ""
	}
	return "response.content_part.added", "response.output_text.delta", "response.output_text.done", "response.content_part.done"
}

// streamResponse sends the events around the items, and one for each token.
func (h *Handler) streamResponse(r *reply) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		r.send(kind, map[string]any{"response": r.body("in_progress")}, 0)
	}
	items := r.items()
	r.begin(items[0])
	err := h.tokens(r.x, r.n, func(k int, said string, count int) error {
		p := items[0]
		if k >= p.last {
			r.finish(p)
			items = items[1:]
			p = items[0]
			r.begin(p)
		}
		if p.kind == "function_call" {
			said = arguments(k-p.first, count, r.n-p.first)
		}
		v := r.within(p, map[string]any{"delta": said})
		if p.kind == "message" {
			v["logprobs"] = []any{}
		}
		_, delta, _, _ := p.names()
		r.send(delta, v, count)
		return r.x.err
	})
	if err != nil {
		return err
	}
	r.finish(items[0])
	r.send("response.completed", map[string]any{"response": r.body("completed")}, 0)
	return r.x.err
}

// inside is the part of an item that contains its text.
func (p part) inside(said string) map[string]any {
	if p.kind == "reasoning" {
		return map[string]any{"type": "summary_text", "text": said}
	}
	return outputText(said)
}

func (r *reply) begin(p part) {
	r.send("response.output_item.added", map[string]any{"output_index": p.index, "item": r.item(p, "in_progress", "")}, 0)
	if added, _, _, _ := p.names(); added != "" {
		r.send(added, r.within(p, map[string]any{"part": p.inside("")}), 0)
	}
}

func (r *reply) finish(p part) {
	said := p.said(r.n)
	_, _, done, closed := p.names()
	v := r.within(p, map[string]any{})
	if p.kind == "function_call" {
		v["arguments"], v["name"] = said, p.name
	} else {
		v["text"] = said
	}
	if strings.HasPrefix(done, "response.output_text") {
		v["logprobs"] = []any{}
	}
	r.send(done, v, 0)
	if closed != "" {
		r.send(closed, r.within(p, map[string]any{"part": p.inside(said)}), 0)
	}
	item := r.item(p, "completed", said)
	r.output = append(r.output, item)
	r.send("response.output_item.done", map[string]any{"output_index": p.index, "item": item}, 0)
}
