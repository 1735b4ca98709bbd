package tokenizer

import "errors"

// Message is one turn of a conversation. Extra holds further fields that a template may read, as tool_calls.
type Message struct {
	Role, Content string
	Extra         map[string]any
}

// chat is a chat template.
type chat struct{}

// HasTemplate tells whether Render can work.
func (t *Tokenizer) HasTemplate() bool { return t.chat != nil }

// Render writes a conversation as the text that the model sees.
func (t *Tokenizer) Render(_ []Message, _ bool) (string, error) {
	return "", errors.New("the tokenizer has no chat template: its folder has none in tokenizer_config.json, chat_template.json or chat_template.jinja")
}

func (t *Tokenizer) readChat(string) error { return nil }
