package endpoint

import (
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// embeddings is OpenAI's /v1/embeddings.
type embeddings struct{ common }

func (c *embeddings) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	w.text("model", c.model(r))
	w.texts("input", r.turn().Texts)
	return w.end(), nil
}

func (c *embeddings) Event(a *Answer, payload []byte, at int64) {
	a.begin()
	s := scan{b: payload}
	for name := range s.members {
		switch string(name) {
		case "data":
			for range s.elements {
				a.vector(&s)
			}
		case "usage":
			a.openAIUsage(&s)
		}
	}
	a.single(&s, payload, at, "an embedding")
}

// vector reads one element of data: its embedding must not be empty.
func (a *Answer) vector(s *scan) {
	for name := range s.members {
		if string(name) != "embedding" {
			continue
		}
		if v := s.value(); len(v) > 2 && (v[0] == '[' || v[0] == '"') {
			a.mark(llm.Other)
		}
	}
}

// single ends a response that is not streamed.
func (a *Answer) single(s *scan, payload []byte, at int64, what string) {
	if !s.end() {
		a.fault("the response is not the JSON of %s: %s", what, excerpt(payload))
		return
	}
	if !a.found {
		_, noun, _ := strings.Cut(what, " ")
		a.fault("the response has no %s: %s", noun, excerpt(payload))
	}
	a.Ended = true
	a.chunk(at)
}

// chatVectors is the embedding of a chat: vLLM's form of /v1/embeddings for models that take images.
type chatVectors struct{ embeddings }

func (c *chatVectors) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	w.text("model", c.model(r))
	if w.name("messages") {
		w.b = chatMessages.appendConversation(w.b, r, r.Conversation.System)
	}
	return w.end(), nil
}

// ranking is rerank in three dialects: Cohere's, that of Hugging Face's text-embeddings-inference, and NIM's.
type ranking struct{ common }

func newRanking(c common) (api, error) { return &ranking{c}, nil }

func (c *ranking) Compose(r *Request) ([]byte, error) {
	t := r.turn()
	query, passages := t.Query, t.Passages
	if query == "" && len(t.Texts) > 0 {
		query, passages = t.Texts[0], t.Texts[1:]
	}
	if query == "" || len(passages) == 0 {
		return nil, formatf("a ranking needs a query and passages: conversation %s has none", r.Conversation.ID)
	}
	w := c.body(r)
	switch c.Kind {
	case NIMRank:
		w.text("model", c.model(r))
		if w.name("query") {
			w.b = appendText(w.b, query)
		}
		if w.name("passages") {
			w.b = append(w.b, '[')
			for _, p := range passages {
				w.b = appendText(comma(w.b), p)
			}
			w.b = append(w.b, ']')
		}
	case CohereRank:
		w.text("model", c.model(r))
		w.text("query", query)
		if w.name("documents") {
			w.b = appendStrings(w.b, passages)
		}
	default:
		w.text("query", query)
		if w.name("texts") {
			w.b = appendStrings(w.b, passages)
		}
	}
	return w.end(), nil
}

func appendText(b []byte, text string) []byte {
	b = append(b, `{"text":`...)
	return append(tensor.AppendQuoted(b, text), '}')
}

// Event reads a list of places: the response itself, or its member results or rankings.
func (c *ranking) Event(a *Answer, payload []byte, at int64) {
	a.begin()
	s := scan{b: payload}
	if s.peek() == '[' {
		a.places(&s)
	} else {
		for name := range s.members {
			switch string(name) {
			case "results", "rankings", "data":
				a.places(&s)
			case "usage":
				a.openAIUsage(&s)
			}
		}
	}
	a.single(&s, payload, at, "a ranking")
}

func (a *Answer) places(s *scan) {
	for range s.elements {
		s.skip()
		if !s.bad {
			a.mark(llm.Other)
		}
	}
}
