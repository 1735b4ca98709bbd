package openai

import (
	"net/http"
	"strings"
)

// generateAny answers POST /, where TGI takes both forms: the body says which.
func (h *Handler) generateAny(x *exchange) error {
	var r struct {
		Stream bool `json:"stream"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	return h.generateAs(x, r.Stream)
}

// generate answers TGI's /generate and /generate_stream.
func (h *Handler) generate(x *exchange) error {
	return h.generateAs(x, strings.HasSuffix(x.req.URL.Path, "_stream"))
}

func (h *Handler) generateAs(x *exchange, streamed bool) error {
	var r struct {
		Inputs     *string `json:"inputs"`
		Parameters struct {
			Max     *int `json:"max_new_tokens"`
			Details bool `json:"details"`
		} `json:"parameters"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	if r.Inputs == nil {
		return &apiError{http.StatusUnprocessableEntity, "validation", "missing field `inputs`"}
	}
	n, err := answerLength(r.Parameters.Max)
	if err != nil {
		return err
	}
	x.prompt = words(*r.Inputs)
	details := map[string]any{"finish_reason": "length", "generated_tokens": n, "input_length": x.prompt, "seed": nil}
	if streamed {
		return x.ended(h.streamGenerated(x, n, details))
	}
	if err := h.whole(x, n); err != nil {
		return err
	}
	v := map[string]any{"generated_text": text(0, n)}
	if r.Parameters.Details {
		v["details"] = details
	}
	if x.req.URL.Path == "/" {
		writeJSON(x, http.StatusOK, []any{v}) // this path answers with a list
		return nil
	}
	writeJSON(x, http.StatusOK, v)
	return nil
}

// streamGenerated sends an event for each token; the last has the whole text.
func (h *Handler) streamGenerated(x *exchange, n int, details any) error {
	return h.tokens(x, n, func(k int, said string, count int) error {
		last := k + count - 1
		v := map[string]any{"index": last + 1, "token": map[string]any{"id": last, "text": said, "logprob": 0, "special": false}, "generated_text": nil, "details": nil}
		if last == n-1 {
			v["generated_text"], v["details"] = text(0, n), details
		}
		return x.event("", v, count)
	})
}
