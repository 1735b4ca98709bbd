package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"
	"text/template"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tokenizer/jinja"
)

// renderer makes the body of a request.
type renderer func(*TemplateData) ([]byte, error)

// NamedTemplates are the templates that AIPerf and GenAI-Perf know by a name.
var NamedTemplates = map[string]string{"nv-embedqa": `{"text": {{ texts|tojson }}}`}

// TemplateData is the data of a Go template. {{json .Text}} writes a value as JSON.
type TemplateData struct {
	Model                  string
	Text                   string   // the texts of the turn, joined by spaces
	Texts                  []string // the texts of the turn
	System                 string
	Messages               json.RawMessage // the conversation up to this turn, in the form of OpenAI's chat
	Query                  string
	Passages               []string
	Images, Audios, Videos []string // addresses, or data URLs
	MaxTokens              int
	Stream                 bool
	role                   string
}

func (c *custom) templateData(r *Request) *TemplateData {
	t := r.turn()
	d := &TemplateData{
		Model: c.model(r), Text: strings.Join(t.Texts, " "), Texts: t.Texts, System: r.Conversation.System,
		Messages: chatMessages.appendConversation(nil, r, r.Conversation.System),
		Query:    t.Query, Passages: t.Passages, MaxTokens: r.MaxTokens, Stream: c.Stream, role: role(t),
	}
	for _, m := range t.Media {
		list := map[llm.MediaKind]*[]string{llm.Image: &d.Images, llm.Audio: &d.Audios, llm.Video: &d.Videos}[m.Kind]
		*list = append(*list, m.URL)
	}
	return d
}

// parseBody reads a template. It is Jinja if it has a statement of Jinja, or if Go's package cannot read it: Go's templates name
// their data with a dot, as {{.Text}}, and Jinja's without.
func parseBody(text string) (renderer, error) {
	t, err := template.New("body").Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON}).Parse(text)
	if err == nil && !strings.Contains(text, "{%") {
		return func(d *TemplateData) ([]byte, error) {
			var b bytes.Buffer
			err := t.Execute(&b, d)
			return b.Bytes(), err
		}, nil
	}
	j, jinjaErr := jinja.Parse(text)
	switch {
	case jinjaErr == nil:
		return func(d *TemplateData) ([]byte, error) {
			s, err := j.Render(d.jinja())
			return []byte(s), err
		}, nil
	case err != nil && !strings.Contains(text, "{%") && strings.Contains(text, "{{."):
		return nil, err
	}
	return nil, jinjaErr
}

func toJSON(v any) (string, error) {
	if s, ok := v.(string); ok {
		return string(tensor.AppendQuoted(nil, s)), nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// jinja returns the variables of a Jinja template, with AIPerf's names. A value that the turn does not have is none.
func (d *TemplateData) jinja() map[string]any {
	vars := map[string]any{"model": d.Model, "stream": d.Stream, "role": d.role, "system": orNone(d.System), "max_tokens": orNone(d.MaxTokens)}
	var queries []string
	if d.Query != "" {
		queries = []string{d.Query}
	}
	for _, l := range []struct {
		one, all string
		list     []string
	}{
		{"text", "texts", d.Texts},
		{"query", "queries", queries},
		{"passage", "passages", d.Passages},
		{"image", "images", d.Images},
		{"audio", "audios", d.Audios},
		{"video", "videos", d.Videos},
	} {
		items := &jinja.List{}
		for _, s := range l.list {
			items.Items = append(items.Items, s)
		}
		vars[l.one], vars[l.all] = nil, items
		if len(l.list) > 0 {
			vars[l.one] = l.list[0]
		}
	}
	if m, err := jinja.FromJSON(d.Messages); err == nil { // chatMessages writes JSON
		vars["messages"] = m
	}
	return vars
}

// orNone is a value; nil if it is zero.
func orNone[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}
