package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"
	"net/http"
	"slices"
	"strings"
)

// embeddings answers /v1/embeddings after the time of one token, with a vector that depends on the text alone.
func (h *Handler) embeddings(x *exchange) error {
	var r struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Messages   json.RawMessage `json:"messages"` // vLLM's form for models that take images: one vector for the chat
		Dimensions int             `json:"dimensions"`
		Format     string          `json:"encoding_format"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	if len(r.Input) == 0 {
		r.Input = r.Messages
	}
	if len(r.Input) == 0 {
		return bad("you must provide an input")
	}
	inputs := []json.RawMessage{r.Input}
	var list []json.RawMessage
	if json.Unmarshal(r.Input, &list) == nil && len(list) > 0 && (list[0][0] == '"' || list[0][0] == '[') {
		inputs = list // texts, or lists of ids
	}
	if r.Dimensions < 1 || r.Dimensions > 1<<16 {
		r.Dimensions = 8
	}
	for _, in := range inputs {
		x.prompt += promptWords(in)
	}
	if err := h.whole(x, 1); err != nil {
		return err
	}
	data := []any{}
	for i, in := range inputs {
		vector := make([]float64, r.Dimensions)
		for k := range vector {
			vector[k] = float64(crc32.ChecksumIEEE(append([]byte{byte(k), byte(k >> 8)}, in...))%2000)/1000 - 1
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": packed(vector, r.Format)})
	}
	writeJSON(x, http.StatusOK, map[string]any{"object": "list", "data": data, "model": r.Model, "usage": map[string]int{"prompt_tokens": x.prompt, "total_tokens": x.prompt}})
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

// passage is a document: a text, or an object with a text.
type passage struct{ Text string }

// UnmarshalJSON reads both forms.
func (p *passage) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &p.Text)
	}
	var o struct {
		Text string `json:"text"`
	}
	err := json.Unmarshal(b, &o)
	p.Text = o.Text
	return err
}

// ranked is a document and how much of the query it has.
type ranked struct {
	index int
	score float64
	text  string
}

// rank waits for the time of one token and sorts the documents, the best first.
func (h *Handler) rank(x *exchange, query string, documents []passage, top *int) ([]ranked, error) {
	if len(documents) == 0 {
		return nil, bad("you must provide documents")
	}
	x.prompt = words(query)
	for _, d := range documents {
		x.prompt += words(d.Text)
	}
	if err := h.whole(x, 1); err != nil {
		return nil, err
	}
	list := make([]ranked, len(documents))
	for i, d := range documents {
		hits := 0
		for w := range strings.FieldsSeq(query) {
			if strings.Contains(d.Text, w) {
				hits++
			}
		}
		list[i] = ranked{i, float64(hits) / float64(max(words(query), 1)), d.Text}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	if top != nil && *top >= 0 {
		list = list[:min(*top, len(list))]
	}
	return list, nil
}

// rerank answers in Cohere's form, and in TEI's where the documents are texts.
func (h *Handler) rerank(x *exchange) error {
	var r struct {
		Model     string    `json:"model"`
		Query     string    `json:"query"`
		Documents []passage `json:"documents"`
		Top       *int      `json:"top_n"`
		Return    *bool     `json:"return_documents"`

		Texts      []passage `json:"texts"`
		ReturnText bool      `json:"return_text"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	tei := len(r.Texts) > 0
	if tei {
		r.Documents = r.Texts
	}
	list, err := h.rank(x, r.Query, r.Documents, r.Top)
	if err != nil {
		return err
	}
	results := []any{}
	for _, d := range list {
		v := map[string]any{"index": d.index}
		switch {
		case tei && r.ReturnText:
			v["score"], v["text"] = d.score, d.text
		case tei:
			v["score"] = d.score
		default:
			v["relevance_score"] = d.score
			if r.Return == nil && x.req.URL.Path != "/v2/rerank" || r.Return != nil && *r.Return {
				v["document"] = map[string]any{"text": d.text}
			}
		}
		results = append(results, v)
	}
	if tei {
		writeJSON(x, http.StatusOK, results)
		return nil
	}
	writeJSON(x, http.StatusOK, map[string]any{
		"id": "rerank-" + x.id, "model": r.Model, "results": results, "usage": map[string]int{"total_tokens": x.prompt},
		"meta": map[string]any{"api_version": map[string]any{"version": "2"}, "billed_units": map[string]int{"search_units": 1}},
	})
	return nil
}

// ranking answers in NIM's form.
func (h *Handler) ranking(x *exchange) error {
	var r struct {
		Query    passage   `json:"query"`
		Passages []passage `json:"passages"`
	}
	if err := x.decode(&r); err != nil {
		return err
	}
	list, err := h.rank(x, r.Query.Text, r.Passages, nil)
	if err != nil {
		return err
	}
	rankings := []any{}
	for _, d := range list {
		rankings = append(rankings, map[string]any{"index": d.index, "logit": d.score})
	}
	writeJSON(x, http.StatusOK, map[string]any{"rankings": rankings, "usage": map[string]int{"prompt_tokens": x.prompt, "total_tokens": x.prompt}})
	return nil
}
