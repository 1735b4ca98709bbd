package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/tokenizer/jinja"
)

// chat has the chat templates of a model and the special tokens that they may use.
type chat struct {
	templates map[string]renderer // by name; most models have defaultTemplate alone
	tokens    map[string]string
	// takesParts reports whether the default template reads contents that are lists of parts.
	takesParts func() bool
}

// The names of templates. The one for tools is used if a conversation has tools.
const (
	defaultTemplate = "default"
	toolTemplate    = "tool_use"
)

// renderer renders a template with variables. That of a template that could not be read returns why.
type renderer func(vars map[string]any) (string, error)

// HasTemplate reports whether the tokenizer comes with a chat template.
func (t *Tokenizer) HasTemplate() bool { return t.chat != nil }

// Render renders a conversation as the text that the model sees. The conversation is JSON: an array of messages, or an object with
// messages, tools and other fields that the template uses. With prompt the text ends with the start of the response.
func (t *Tokenizer) Render(conversation []byte, prompt bool) (string, error) {
	vars := map[string]any{"add_generation_prompt": prompt}
	v, _ := jinja.FromJSON(conversation) // what is not JSON has no messages
	switch v := v.(type) {
	case *jinja.List:
		vars["messages"] = v
	case *jinja.Dict:
		v.Each(func(key string, value any) { vars[key] = value })
	}
	return t.render(vars)
}

// render renders messages with the variables of a conversation.
func (t *Tokenizer) render(vars map[string]any) (string, error) {
	if t.chat == nil {
		return "", ErrNoTemplate
	}
	list, ok := vars["messages"].(*jinja.List)
	if !ok || len(list.Items) == 0 {
		return "", errConversation
	}
	all := map[string]any{"tools": nil, "documents": nil}
	for k, v := range t.chat.tokens {
		all[k] = v
	}
	maps.Copy(all, vars)
	all["messages"] = &jinja.List{Items: convert.All(list.Items, withoutNulls)}
	s, err := t.chat.pick(all["tools"] != nil)(all)
	if err != nil {
		return "", fmt.Errorf("chat template: %w", err)
	}
	return s, nil
}

// withoutNulls is a message without the fields that are null, as transformers has it since 5.23: templates handle fields that are missing,
// and would write "None".
func withoutNulls(message any) any {
	d, ok := message.(*jinja.Dict)
	if !ok {
		return message
	}
	out := jinja.NewDict()
	d.Each(func(key string, v any) {
		if v != nil {
			out.Set(key, v)
		}
	})
	return out
}

// ErrNoTemplate means that the files of a tokenizer have no chat template.
var ErrNoTemplate = errors.New("the tokenizer has no chat template: chat_template is neither in tokenizer_config.json nor in a file of its own")

var errConversation = errors.New("a conversation is a JSON array of one or more messages, or an object with messages")

// pick is the template for a conversation.
func (c *chat) pick(tools bool) renderer {
	if r := c.templates[toolTemplate]; tools && r != nil {
		return r
	}
	if r := c.templates[defaultTemplate]; r != nil {
		return r
	}
	return failing(errors.New("none of the model's templates is the default one"))
}

func failing(err error) renderer {
	return func(map[string]any) (string, error) { return "", err }
}

// readChat searches for chat templates in the files of a folder.
func (t *Tokenizer) readChat(dir string) error {
	config, own := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, f := range []struct {
		name string
		to   *map[string]json.RawMessage
	}{{"special_tokens_map.json", &config}, {"tokenizer_config.json", &config}, {"chat_template.json", &own}} {
		if err := readJSON(filepath.Join(dir, f.name), f.to); err != nil {
			return err
		}
	}
	sources := templates(config["chat_template"])
	maps.Copy(sources, templates(own["chat_template"]))
	if data, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja")); err == nil {
		sources[defaultTemplate] = string(data)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "additional_chat_templates", "*.jinja")); err == nil {
		for _, path := range found {
			if data, err := os.ReadFile(path); err == nil {
				sources[strings.TrimSuffix(filepath.Base(path), ".jinja")] = string(data)
			}
		}
	}
	if len(sources) == 0 {
		return nil
	}
	t.chat = &chat{templates: map[string]renderer{}, tokens: specialNames(config)}
	for name, source := range sources {
		parsed, err := jinja.Parse(source)
		if err != nil {
			t.chat.templates[name] = failing(err)
			continue
		}
		t.chat.templates[name] = parsed.Render
	}
	t.chat.takesParts = sync.OnceValue(t.rendersParts)
	return nil
}

// readJSON reads a file if it is there.
func readJSON(path string, to *map[string]json.RawMessage) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), plainErr(err))
	}
	return nil
}

// templates are the sources of a template that is a string, or of a list of them with names.
func templates(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		if s != "" {
			out[defaultTemplate] = s
		}
		return out
	}
	var list []struct{ Name, Template string }
	if json.Unmarshal(raw, &list) == nil {
		for _, t := range list {
			out[t.Name] = t.Template
		}
	}
	return out
}

// specialNames are the special tokens by name, such as bos_token.
func specialNames(config map[string]json.RawMessage) map[string]string {
	names := map[string]string{}
	for _, k := range []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		var s string
		var o struct{ Content string }
		if json.Unmarshal(config[k], &s) == nil && s != "" {
			names[k] = s
		} else if json.Unmarshal(config[k], &o) == nil && o.Content != "" {
			names[k] = o.Content
		}
	}
	return names
}
