package endpoint

import (
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer"
)

// ChatTemplate counts and renders requests as the model sees them, with the chat template of its tokenizer.
type ChatTemplate struct {
	chat chat // a request of any kind as a chat
	tok  *tokenizer.Tokenizer
}

// NewChatTemplate makes the template for the requests of an endpoint with these options. The tokenizer must have a chat template.
func NewChatTemplate(o Options, tok *tokenizer.Tokenizer) *ChatTemplate {
	return &ChatTemplate{chat: chat{common{Options: o, extra: fields(o.Extra)}}, tok: tok}
}

// Prompt renders a request as one text. Servers add the tokenizer's special tokens to such a text, so Prompt omits those with
// which the template begins.
func (t *ChatTemplate) Prompt(r *Request) (string, error) {
	text, _, err := t.render(r)
	return strings.TrimPrefix(text, t.tok.Prefix()), err
}

// Tokens is the number of input tokens of a request; -1 for a body of a file without a chat.
func (t *ChatTemplate) Tokens(r *Request) (int, error) {
	if t.chat.Kind.TakesText() && r.turn().Raw == nil {
		text, err := t.Prompt(r)
		return t.tok.Count(text, true), err
	}
	text, ok, err := t.render(r)
	if !ok {
		return -1, err
	}
	return t.tok.Count(text, false), err
}

func (t *ChatTemplate) render(r *Request) (text string, ok bool, err error) {
	body := r.turn().Raw
	if body == nil {
		if body, err = t.chat.Compose(r); err != nil {
			return "", false, err
		}
	}
	return t.tok.RenderRequest(body)
}
