package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"net/http"
	"strings"
)

// embeddings answers /v1/embeddings after the time of one token, with a vector that depends on the text alone.
func (h *Handler) embeddings(x *exchange) error {
	var r struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Dimensions int             `json:"dimensions"`
		Format     string          `json:"encoding_format"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	if len(r.Input) == 0 {
		return bad("you must provide an input")
	}
	inputs := []json.RawMessage{r.Input}
	var list []json.RawMessage
	if json.Unmarshal(r.Input, &list) == nil && len(list) > 0 && list[0][0] == '"' {
		inputs = list
	}
	if r.Dimensions < 1 || r.Dimensions > 1<<16 {
		r.Dimensions = 8
	}
	if _, err := h.text(x, 1); err != nil {
		return err
	}
	data, total := []any{}, 0
	for i, in := range inputs {
		vector := make([]float64, r.Dimensions)
		for k := range vector {
			vector[k] = float64(crc32.ChecksumIEEE(append([]byte{byte(k), byte(k >> 8)}, in...))%2000)/1000 - 1
		}
		total += promptWords(in)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": packed(vector, r.Format)})
	}
	writeJSON(x, http.StatusOK, map[string]any{"object": "list", "data": data, "model": r.Model, "usage": map[string]int{"prompt_tokens": total, "total_tokens": total}})
	return nil
}

// packed is a vector as a client wants it: a list, or base64 of 32-bit floats.
func packed(vector []float64, format string) any {
	if format != "base64" {
		return vector
	}
	raw := make([]byte, 0, 4*len(vector))
	for _, v := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// messages answers Anthropic's /v1/messages.
func (h *Handler) messages(x *exchange) error {
	var r struct {
		Model    string    `json:"model"`
		Max      *int      `json:"max_tokens"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	n, err := (&request{MaxTokens: r.Max}).length()
	if err != nil {
		return err
	}
	in := 0
	for _, m := range r.Messages {
		in += contentWords(m.Content)
	}
	body := func(content []any, reason any, out int) map[string]any {
		return map[string]any{
			"id": "msg_" + x.id, "type": "message", "role": "assistant", "model": r.Model, "content": content,
			"stop_reason": reason, "stop_sequence": nil, "usage": map[string]int{"input_tokens": in, "output_tokens": out},
		}
	}
	if !r.Stream {
		text, err := h.text(x, n)
		if err != nil {
			return err
		}
		writeJSON(x, http.StatusOK, body([]any{map[string]any{"type": "text", "text": text}}, "max_tokens", n))
		return nil
	}
	send := func(kind string, v map[string]any) error {
		v["type"] = kind
		return x.event(kind, v)
	}
	err = h.tokens(x.req.Context(), x, n, func(k int, token string) error {
		if k == 0 {
			if err := send("message_start", map[string]any{"message": body([]any{}, nil, 0)}); err != nil {
				return err
			}
			if err := send("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}}); err != nil {
				return err
			}
		}
		return send("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": token}})
	})
	if err != nil {
		return x.streamError(err)
	}
	for _, e := range []struct {
		kind string
		v    map[string]any
	}{
		{"content_block_stop", map[string]any{"index": 0}},
		{"message_delta", map[string]any{"delta": map[string]any{"stop_reason": "max_tokens", "stop_sequence": nil}, "usage": map[string]int{"output_tokens": n}}},
		{"message_stop", map[string]any{}},
	} {
		if err := send(e.kind, e.v); err != nil {
			return err
		}
	}
	return nil
}

// generate answers TGI's /generate and /generate_stream.
func (h *Handler) generate(x *exchange) error {
	var r struct {
		Inputs     string `json:"inputs"`
		Parameters struct {
			Max *int `json:"max_new_tokens"`
		} `json:"parameters"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	n, err := (&request{MaxTokens: r.Parameters.Max}).length()
	if err != nil {
		return err
	}
	if !strings.HasSuffix(x.req.URL.Path, "_stream") {
		text, err := h.text(x, n)
		if err != nil {
			return err
		}
		writeJSON(x, http.StatusOK, map[string]any{"generated_text": text})
		return nil
	}
	var all strings.Builder
	err = h.tokens(x.req.Context(), x, n, func(k int, token string) error {
		all.WriteString(token)
		v := map[string]any{"index": k + 1, "token": map[string]any{"id": k, "text": token, "logprob": 0, "special": false}, "generated_text": nil, "details": nil}
		if k == n-1 {
			v["generated_text"] = all.String()
		}
		return x.event("", v)
	})
	return x.streamError(err)
}

// rerank scores documents by how many of the query's words they have.
func (h *Handler) rerank(x *exchange) error {
	var r struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	if len(r.Documents) == 0 {
		return bad("you must provide documents")
	}
	if _, err := h.text(x, 1); err != nil {
		return err
	}
	results := []any{}
	for i, d := range r.Documents {
		hits := 0
		for w := range strings.FieldsSeq(r.Query) {
			if strings.Contains(d, w) {
				hits++
			}
		}
		results = append(results, map[string]any{"index": i, "relevance_score": float64(hits) / float64(max(words(r.Query), 1)), "document": map[string]any{"text": d}})
	}
	writeJSON(x, http.StatusOK, map[string]any{"id": "rerank-" + x.id, "model": r.Model, "results": results})
	return nil
}
