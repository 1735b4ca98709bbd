package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/redline-bench/redline/internal/tokenizer/jinja"
)

// Message is one turn of a conversation. Extra holds further fields that a template may read, as tool_calls, or a
// content that is no string; its values are those that encoding/json makes.
type Message struct {
	Role, Content string
	Extra         map[string]any
}

// chat is a chat template and the special tokens that it may name.
type chat struct {
	template *jinja.Template
	err      error // why the template cannot be used: told when it is
	tokens   map[string]string
}

// HasTemplate tells whether the tokenizer comes with a chat template.
func (t *Tokenizer) HasTemplate() bool { return t.chat != nil }

// Render writes a conversation as the text that the model sees. With addGenerationPrompt it ends with the beginning
// of the answer.
func (t *Tokenizer) Render(messages []Message, addGenerationPrompt bool) (string, error) {
	return t.RenderWith(messages, addGenerationPrompt, nil)
}

// RenderWith is Render with more variables for the template, as tools.
func (t *Tokenizer) RenderWith(messages []Message, addGenerationPrompt bool, more map[string]any) (string, error) {
	if t.chat == nil {
		return "", errors.New("the tokenizer has no chat template: chat_template is neither in tokenizer_config.json nor in a file of its own")
	}
	if t.chat.err != nil {
		return "", fmt.Errorf("chat template: %w", t.chat.err)
	}
	list := &jinja.List{}
	for _, m := range messages {
		d := jinja.NewDict()
		d.Set("role", m.Role)
		d.Set("content", m.Content)
		keys := make([]string, 0, len(m.Extra))
		for k := range m.Extra {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			d.Set(k, jinja.ToValue(m.Extra[k]))
		}
		list.Items = append(list.Items, d)
	}
	vars := map[string]any{"messages": list, "add_generation_prompt": addGenerationPrompt, "tools": nil, "documents": nil}
	for k, v := range t.chat.tokens {
		vars[k] = v
	}
	for k, v := range more {
		vars[k] = jinja.ToValue(v)
	}
	s, err := t.chat.template.Render(vars)
	if err != nil {
		return "", fmt.Errorf("chat template: %w", err)
	}
	return s, nil
}

// readChat looks for a chat template in the files of a folder.
func (t *Tokenizer) readChat(dir string) error {
	config := map[string]json.RawMessage{}
	if err := readJSON(filepath.Join(dir, "special_tokens_map.json"), &config); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(dir, "tokenizer_config.json"), &config); err != nil {
		return err
	}
	own := map[string]json.RawMessage{}
	if err := readJSON(filepath.Join(dir, "chat_template.json"), &own); err != nil {
		return err
	}
	source, ok := pickTemplate(config["chat_template"])
	if s, found := pickTemplate(own["chat_template"]); found {
		source, ok = s, true
	}
	if data, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja")); err == nil {
		source, ok = string(data), true
	}
	if !ok {
		return nil
	}
	c := &chat{tokens: specialNames(config)}
	c.template, c.err = jinja.Parse(source)
	t.chat = c
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

// pickTemplate is a template that is a string, or the default one of a list.
func pickTemplate(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" {
		return s, true
	}
	var list []struct{ Name, Template string }
	if json.Unmarshal(raw, &list) != nil {
		return "", false
	}
	for _, t := range list {
		if t.Name == "default" {
			return t.Template, true
		}
	}
	return "", false
}

// specialNames are bos_token and its kin.
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
