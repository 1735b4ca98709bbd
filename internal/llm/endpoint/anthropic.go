package endpoint

import (
	"cmp"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// messages is Anthropic's /v1/messages.
type messages struct{ common }

// anthropicTokens is the default limit of a response: the API requires one.
const anthropicTokens = 1024

func (c *messages) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	w.text("model", c.model(r))
	if w.name("messages") {
		w.b = anthropicMessages.appendConversation(w.b, r, "")
	}
	if r.Conversation.System != "" {
		w.text("system", r.Conversation.System)
	}
	w.number("max_tokens", cmp.Or(r.MaxTokens, anthropicTokens))
	w.flag("stream", c.Stream)
	w.raw("tools", r.turn().Tools)
	return w.end(), nil
}

// anthropicMessages is the form of messages in Anthropic's API: images come before the text about them.
var anthropicMessages = messageForm{text: `{"type":"text","text":`, media: appendSource, mediaFirst: true}

// appendSource writes an image by its address or by its data.
func appendSource(b []byte, m llm.Media) []byte {
	head, data, ok := strings.Cut(m.URL, ";base64,")
	if !ok {
		b = append(b, `{"type":"image","source":{"type":"url","url":`...)
		return append(tensor.AppendQuoted(b, m.URL), "}}"...)
	}
	b = append(b, `{"type":"image","source":{"type":"base64","media_type":`...)
	b = tensor.AppendQuoted(b, strings.TrimPrefix(head, "data:"))
	b = append(b, `,"data":`...)
	return append(tensor.AppendQuoted(b, data), "}}"...)
}

func (c *messages) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	s := scan{b: data}
	var kind []byte
	for name := range s.members {
		switch string(name) {
		case "type":
			kind = s.str()
		case "delta", "content_block":
			a.block(&s)
		case "content":
			for range s.elements {
				a.block(&s)
			}
		case "message":
			a.block(&s)
		case "usage":
			a.anthropicUsage(&s)
		case "stop_reason":
			a.finish(s.str())
		case "error":
			a.fault("the server reports an error: %s", excerpt(s.value()))
		}
	}
	if !s.end() || len(kind) == 0 {
		a.fault("this is not a response of Anthropic's API: %s", excerpt(data))
		return
	}
	if string(kind) == `"message_stop"` {
		a.Ended = true
	}
	a.chunk(at)
}

// block reads a block of content, a part of one, or the message at the start of a stream.
func (a *Answer) block(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "text":
			a.text(s.str(), llm.Text)
		case "thinking":
			a.text(s.str(), llm.Thought)
		case "partial_json":
			a.text(s.str(), llm.Tool)
		case "input":
			if v := s.value(); len(v) > 2 && string(v) != "null" {
				a.Calls = append(a.Calls, v...)
				a.mark(llm.Tool)
			}
		case "usage":
			a.anthropicUsage(s)
		case "stop_reason":
			a.finish(s.str())
		}
	}
}

// anthropicUsage reads the token counts. The prompt is the sum of new tokens, tokens read from the cache, and tokens written to it.
func (a *Answer) anthropicUsage(s *scan) {
	prompt, output, read, written := -1, -1, 0, 0
	for name := range s.members {
		var to *int
		switch string(name) {
		case "input_tokens":
			to = &prompt
		case "output_tokens":
			to = &output
		case "cache_read_input_tokens":
			to = &read
		case "cache_creation_input_tokens":
			to = &written
		default:
			continue
		}
		if k, ok := s.number(); ok {
			*to = k
		}
	}
	if prompt >= 0 {
		a.usage(&a.Usage.Prompt, prompt+read+written, true)
		a.Usage.Cached = read
	}
	a.usage(&a.Usage.Completion, output, output >= 0)
}
