package endpoint

import (
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// messageForm is the form of a conversation's messages in an API.
type messageForm struct {
	text       string // start of a text part, up to the text itself
	media      func(b []byte, m llm.Media) []byte
	mediaFirst bool
}

// appendConversation writes the turns up to the current one as an array of messages, with the responses to earlier turns. The
// first message is the system prompt; "" writes none.
func (f *messageForm) appendConversation(b []byte, r *Request, system string) []byte {
	if m := r.turn().Messages; m != nil {
		return append(b, m...)
	}
	b = append(b, '[')
	if system != "" {
		b = appendMessage(b, "system", system)
	}
	for i := r.first(); i <= r.Turn; i++ {
		b = f.appendTurn(b, &r.Conversation.Turns[i])
		if i < r.Turn && i < len(r.Answers) {
			b = appendMessage(b, "assistant", r.Answers[i])
		}
	}
	return append(b, ']')
}

// appendTurn writes one turn: a plain text, or several parts.
func (f *messageForm) appendTurn(b []byte, t *llm.Turn) []byte {
	if plain(t) {
		return appendMessage(b, role(t), t.Texts[0])
	}
	b = append(comma(b), `{"role":`...)
	b = tensor.AppendQuoted(b, role(t))
	b = append(b, `,"content":[`...)
	if f.mediaFirst {
		b = f.appendMedia(b, t)
	}
	for _, text := range t.Texts {
		b = append(comma(b), f.text...)
		b = append(tensor.AppendQuoted(b, text), '}')
	}
	if !f.mediaFirst {
		b = f.appendMedia(b, t)
	}
	return append(b, "]}"...)
}

func (f *messageForm) appendMedia(b []byte, t *llm.Turn) []byte {
	for _, m := range t.Media {
		b = f.media(comma(b), m)
	}
	return b
}

// plain reports whether a turn is one text and nothing else.
func plain(t *llm.Turn) bool { return len(t.Texts) == 1 && len(t.Media) == 0 }

// comma separates elements of an array.
func comma(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

func appendMessage(b []byte, role, text string) []byte {
	b = append(comma(b), `{"role":`...)
	b = tensor.AppendQuoted(b, role)
	b = append(b, `,"content":`...)
	b = tensor.AppendQuoted(b, text)
	return append(b, '}')
}
