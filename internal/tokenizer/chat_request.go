package tokenizer

import (
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/jinja"
)

// RenderRequest renders the body of a chat request as the text that the model sees, ending with the start of the response. The
// template receives messages, tools, documents, add_generation_prompt and the fields of chat_template_kwargs, after the changes that
// vLLM makes: see asServed. ok is false for a body without messages.
func (t *Tokenizer) RenderRequest(body []byte) (text string, ok bool, err error) {
	v, _ := jinja.FromJSON(body)
	request, _ := v.(*jinja.Dict)
	messages, ok := lookup[*jinja.List](request, "messages")
	if !ok {
		return "", false, nil
	}
	vars := map[string]any{"add_generation_prompt": true}
	if more, ok := lookup[*jinja.Dict](request, "chat_template_kwargs"); ok {
		more.Each(func(key string, v any) { vars[key] = v })
	}
	for _, key := range []string{"tools", "documents", "add_generation_prompt"} {
		if v, ok := request.Get(key); ok {
			vars[key] = v
		}
	}
	if t.chat != nil {
		for _, m := range messages.Items {
			if d, ok := m.(*jinja.Dict); ok {
				t.chat.asServed(d)
			}
		}
	}
	vars["messages"] = messages
	text, err = t.render(vars)
	return text, true, err
}

// asServed changes a message as vLLM does before rendering: if the template does not accept parts, their texts become one text with one
// line per part; arguments of tool calls become objects.
func (c *chat) asServed(m *jinja.Dict) {
	if content, ok := m.Get("content"); ok && !c.takesParts() {
		switch content := content.(type) {
		case nil:
			m.Set("content", "")
		case *jinja.List:
			m.Set("content", joinParts(content))
		}
	}
	calls, ok := lookup[*jinja.List](m, "tool_calls")
	if !ok {
		return
	}
	for _, call := range calls.Items {
		d, _ := call.(*jinja.Dict)
		function, ok := lookup[*jinja.Dict](d, "function")
		if !ok {
			continue
		}
		if text, ok := lookup[string](function, "arguments"); ok {
			if v, err := jinja.FromJSON([]byte(text)); err == nil {
				function.Set("arguments", v)
			}
		}
	}
}

func joinParts(parts *jinja.List) string {
	var texts []string
	for _, part := range parts.Items {
		d, _ := part.(*jinja.Dict)
		if text, ok := lookup[string](d, "text"); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// lookup finds a member of a type in a dict, or in nil.
func lookup[T any](d *jinja.Dict, key string) (found T, ok bool) {
	if d != nil {
		v, _ := d.Get(key)
		found, ok = v.(T)
	}
	return found, ok
}

// rendersParts reports whether the template accepts parts: otherwise it fails, or writes a part unchanged.
func (t *Tokenizer) rendersParts() bool {
	const mark = "mark"
	text, err := t.Render([]byte(`[{"role":"user","content":[{"type":"text","text":"`+mark+`"}]}]`), true)
	return err == nil && strings.Contains(text, mark) && !strings.Contains(text, "'"+mark) && !strings.Contains(text, `"`+mark)
}

// Prefix is the text of the special tokens that the tokenizer adds before every text; empty if it adds none.
func (t *Tokenizer) Prefix() string { return t.Decode(t.post.before, false) }
