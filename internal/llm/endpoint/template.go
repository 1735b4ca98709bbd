package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
)

// custom is any HTTP API with JSON bodies: a template makes the body, and paths locate the response's text.
type custom struct {
	common
	render       renderer
	text         []string
	prompt, done []string
}

func newTemplate(c common) (api, error) {
	if c.Body == "" {
		return nil, errors.New("--endpoint-type template needs --template FILE")
	}
	e := &custom{common: c}
	var err error
	if e.render, err = parseBody(c.Body); err != nil {
		return nil, fmt.Errorf("--template: %w", err)
	}
	for _, p := range []struct {
		option, path string
		to           *[]string
	}{{"--response-field", c.ResponsePath, &e.text}, {"--usage-fields", c.PromptPath, &e.prompt}, {"--usage-fields", c.CompletionsPath, &e.done}} {
		if *p.to, err = path(p.path); err != nil {
			return nil, fmt.Errorf("%s %w", p.option, err)
		}
	}
	trial := &Request{Conversation: &llm.Conversation{Turns: []llm.Turn{{Texts: []string{"text"}}}}, MaxTokens: 1}
	if _, err := e.Compose(trial); err != nil {
		return nil, err
	}
	return e, nil
}

// path splits the path of a field, as choices.0.text or choices[0].text.
func path(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	steps := strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(strings.TrimPrefix(text, "$.")), ".")
	if slices.Contains(steps, "") || strings.ContainsAny(text, "*?|@&{}()' ") {
		return nil, fmt.Errorf("is a path of names and indices, as data[0].text, not %q", text)
	}
	return steps, nil
}

func (c *custom) Compose(r *Request) ([]byte, error) {
	b, err := c.render(c.templateData(r))
	if err != nil {
		return nil, fmt.Errorf("--template: %w", err)
	}
	text := bytes.TrimSpace(b)
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

// usualFields are where servers put the text of a response. They are tried in this order if --response-field is not given.
var usualFields = [][]string{
	{"choices", "0", "text"},
	{"choices", "0", "message", "content"},
	{"choices", "0", "delta", "content"},
	{"text"},
	{"content"},
	{"response"},
	{"output"},
	{"result"},
	{"generated_text"},
	{"text_output"},
}

// content returns the value that holds the response: that of --response-field, a usual field, or everything.
func (c *custom) content(data []byte) []byte {
	if c.text != nil {
		return find(data, c.text)
	}
	for _, p := range usualFields {
		if v := find(data, p); len(v) > 0 && v[0] == '"' {
			return v
		}
	}
	return data
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
		a.count(&scan{b: v}, &a.Usage.Prompt)
	}
	if v := find(data, c.done); v != nil {
		a.count(&scan{b: v}, &a.Usage.Completion)
	}
	switch v := c.content(data); {
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
			for name := range s.members {
				if string(name) == step {
					data = s.value()
				}
			}
		case '[':
			n := 0
			for range s.elements {
				if v := s.value(); err == nil && n == index {
					data = v
				}
				n++
			}
		}
		if data == nil {
			return nil
		}
	}
	return data
}

// raw sends bodies unchanged and detects the API of the responses.
type raw struct{ common }

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
