package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// custom is any HTTP API with JSON bodies: a Go text template makes the body, and paths locate the response's text.
type custom struct {
	common
	body         *template.Template
	text         []string
	prompt, done []string
}

// TemplateData is the data of a template. {{json .Text}} writes a value as JSON.
type TemplateData struct {
	Model     string
	Text      string   // the texts of the turn, joined by spaces
	Texts     []string // the texts of the turn
	System    string
	Messages  json.RawMessage // the conversation up to this turn, in the form of OpenAI's chat
	Query     string
	Passages  []string
	MaxTokens int
	Stream    bool
}

func newTemplate(c common) (api, error) {
	if c.Body == "" {
		return nil, errors.New("--endpoint-type template needs --template FILE")
	}
	t, err := template.New("body").Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(c.Body)
	if err != nil {
		return nil, fmt.Errorf("--template: %w", err)
	}
	e := &custom{common: c, body: t, text: path(c.ResponsePath), prompt: path(c.PromptPath), done: path(c.CompletionsPath)}
	trial := &Request{Conversation: &llm.Conversation{Turns: []llm.Turn{{Texts: []string{"text"}}}}, MaxTokens: 1}
	if _, err := e.Compose(trial); err != nil {
		return nil, err
	}
	return e, nil
}

func path(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.NewReplacer("[", ".", "]", "", "$.", "").Replace(text), ".")
}

func toJSON(v any) (string, error) {
	if s, ok := v.(string); ok {
		return string(tensor.AppendQuoted(nil, s)), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func (c *custom) Path() string { return "" }

func (c *custom) Compose(r *Request) ([]byte, error) {
	t := r.turn()
	var b bytes.Buffer
	err := c.body.Execute(&b, TemplateData{
		Model: c.model(r), Text: strings.Join(t.Texts, " "), Texts: t.Texts, System: r.Conversation.System, Messages: chatMessages.appendConversation(nil, r, r.Conversation.System),
		Query: t.Query, Passages: t.Passages, MaxTokens: r.MaxTokens, Stream: c.Stream,
	})
	if err != nil {
		return nil, fmt.Errorf("--template: %w", err)
	}
	text := bytes.TrimSpace(b.Bytes())
	if !json.Valid(text) {
		return nil, fmt.Errorf("--template does not make JSON: %s", excerpt(text))
	}
	w := c.common.body(r)
	if len(w.extras[0])+len(w.extras[1]) > 0 && text[len(text)-1] == '}' {
		w.b, w.n = text[:len(text)-1], 1
		if len(bytes.TrimSpace(w.b)) == 1 {
			w.n = 0
		}
		text = w.end()
	}
	return text, nil
}

func (c *custom) Event(a *Answer, payload []byte, at int64) {
	a.begin()
	data, streamed := event(payload)
	if a.Streamed = streamed; !streamed {
		data = payload
	}
	if isDone(data) {
		a.Ended = true
		return
	}
	s := scan{b: data}
	if s.skip(); !s.end() {
		a.fault("the response is not JSON: %s", excerpt(data))
		return
	}
	if v := find(data, c.prompt); v != nil {
		k, ok := (&scan{b: v}).number()
		a.usage(&a.Usage.Prompt, k, ok)
	}
	if v := find(data, c.done); v != nil {
		k, ok := (&scan{b: v}).number()
		a.usage(&a.Usage.Completion, k, ok)
	}
	switch v := find(data, c.text); {
	case len(v) > 0 && v[0] == '"':
		a.text(v, llm.Text)
	case len(v) > 0 && string(v) != "null":
		a.mark(llm.Other)
	}
	a.counts()
	a.chunk(at)
}

// find follows a path of names and indices. It returns the whole value for an empty path, nil if the path does not exist.
func find(data []byte, path []string) []byte {
	for _, step := range path {
		s := scan{b: data}
		data = nil
		index, err := strconv.Atoi(step)
		switch s.peek() {
		case '{':
			s.i++
			for n := 0; s.more('}', n); n++ {
				if name := s.key(); string(name) == step {
					data = s.value()
				} else {
					s.skip()
				}
			}
		case '[':
			s.i++
			for n := 0; s.more(']', n); n++ {
				if v := s.value(); err == nil && n == index {
					data = v
				}
			}
		}
		if data == nil {
			return nil
		}
	}
	return data
}

func (c *custom) End(a *Answer) error { return whole(a, "the template") }

// raw sends bodies unchanged and detects the API of the responses.
type raw struct{ common }

func (c *raw) Path() string { return "v1/chat/completions" }

func (c *raw) Compose(r *Request) ([]byte, error) {
	return nil, formatf("conversation %s has no payload: --endpoint-type raw sends those of the input file", r.Conversation.ID)
}

func (c *raw) Event(a *Answer, payload []byte, at int64) { c.guess(payload).Event(a, payload, at) }

// guess detects the API from a response.
func (c *raw) guess(payload []byte) api {
	as := c.common
	_, as.Stream = event(payload)
	has := func(name string) bool { return bytes.Contains(payload, []byte(`"`+name+`"`)) }
	switch {
	case has("choices"):
		return &chat{as}
	case has("text_output"):
		return &generate{as}
	case has("generated_text"):
		return &tgi{as}
	case has("embedding"):
		return &embeddings{as}
	case has("results"), has("rankings"):
		return &ranking{as}
	case bytes.Contains(payload, []byte(`"type":"response.`)), bytes.Contains(payload, []byte(`"type": "response.`)), has("output"):
		return &responses{as}
	case has("stop_reason"), has("content_block"), bytes.Contains(payload, []byte("message_")), bytes.Contains(payload, []byte("content_block")):
		return &messages{as}
	}
	return &chat{as}
}

func (c *raw) End(a *Answer) error { return whole(a, "a completion") }
