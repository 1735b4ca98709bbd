package openai

import (
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire/sse"
)

// Message appends the assistant's message that the responses of a chat completion carry, as the next request of
// the conversation repeats it. The pieces of a streamed one are put together.
func (s *Service) Message(dst []byte, events []record.Event, responses []byte) ([]byte, error) {
	if len(events) == 1 {
		if v, err := jsonscan.Parse(responses); err == nil {
			return bodyMessage(dst, v)
		}
	}
	p := pieces{role: []byte("assistant")}
	var parser sse.Parser
	if err := parser.Feed(responses, 0, &p); err != nil {
		return dst, err
	}
	if p.choices == 0 {
		return dst, noMessage(service.NoChoices, responses)
	}
	dst = append(dst, `{"role":`...)
	dst = tensor.AppendQuoted(dst, p.role)
	dst = append(dst, `,"content":`...)
	dst = tensor.AppendQuoted(dst, p.content)
	return append(dst, '}'), nil
}

// bodyMessage appends choices[0].message.
func bodyMessage(dst []byte, v jsonscan.Value) ([]byte, error) {
	choices, _ := v.Get("choices")
	var first jsonscan.Value
	for c := range choices.Elements() {
		first = c
		break
	}
	if first == nil {
		return dst, noMessage(service.NoChoices, v)
	}
	message, _ := first.Get("message")
	if message.Kind() != jsonscan.Object {
		return dst, noMessage(service.NoMessageOfChoice, v)
	}
	return message.Append(dst), nil
}

func noMessage(why service.Sentence, body []byte) error {
	return &service.Error{Op: service.OpInfer, Class: record.Protocol, Code: 200, Err: why.With(quote(body))}
}

// pieces puts the deltas of a streamed message together.
type pieces struct {
	role, content []byte
	choices       int
}

// OnEvent takes one delta of the first choice.
func (p *pieces) OnEvent(e *sse.Event) {
	v, err := jsonscan.Parse(e.Data)
	if err != nil {
		return // [DONE]
	}
	choices, _ := v.Get("choices")
	for c := range choices.Elements() {
		if i, ok := c.Get("index"); ok {
			if n, _ := i.Uint64(); n != 0 {
				continue
			}
		}
		p.choices++
		delta, _ := c.Get("delta")
		if role, ok := delta.Get("role"); ok && role.Kind() == jsonscan.String {
			p.role = role.AppendText(p.role[:0])
		}
		text, _ := delta.Get("content")
		p.content = text.AppendText(p.content)
	}
}
