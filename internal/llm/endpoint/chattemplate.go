package endpoint

import (
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer"
)

// ChatTemplate counts and writes requests as the model sees them: by the chat template of its tokenizer.
type ChatTemplate struct {
	chat chat // a request of any kind as a chat
	tok  *tokenizer.Tokenizer
}

// NewChatTemplate makes the template of the requests that an endpoint with these options makes. The tokenizer must have one.
func NewChatTemplate(o Options, tok *tokenizer.Tokenizer) *ChatTemplate {
	return &ChatTemplate{chat: chat{common{Options: o, extra: fields(o.Extra)}}, tok: tok}
}

// Prompt is a request as the text for an API that takes one. Servers put the tokenizer's special tokens around such a text, so
// it leaves out those that the template begins with.
func (t *ChatTemplate) Prompt(r *Request) (string, error) {
	text, _, err := t.render(r)
	return strings.TrimPrefix(text, t.tok.Prefix()), err
}

// Tokens is the number of input tokens of a request; -1 for a body of a file that holds no chat.
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
	in, err := t.chat.Inputs(r)
	if err != nil {
		return "", false, err
	}
	return t.tok.RenderRequest(in.Tensors[0].Data)
}
