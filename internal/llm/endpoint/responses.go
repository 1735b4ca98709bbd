package endpoint

import (
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor"
)

// responses is OpenAI's /v1/responses.
type responses struct{ common }

func (c *responses) Compose(r *Request) ([]byte, error) {
	w := c.body(r)
	w.text("model", c.model(r))
	if w.name("input") {
		w.b = appendInput(w.b, r)
	}
	if r.Conversation.System != "" {
		w.text("instructions", r.Conversation.System)
	}
	w.flag("stream", c.Stream)
	w.number("max_output_tokens", r.MaxTokens)
	w.raw("tools", r.turn().Tools)
	return w.end(), nil
}

// inputMessages is the form of messages in the responses API.
var inputMessages = messageForm{text: `{"type":"input_text","text":`, media: func(b []byte, m llm.Media) []byte {
	if m.Kind != llm.Image {
		return appendPart(b, m)
	}
	b = append(b, `{"type":"input_image","image_url":`...)
	return append(tensor.AppendQuoted(b, m.URL), '}')
}}

// appendInput writes a single plain text as it is, and everything else as a list of messages.
func appendInput(b []byte, r *Request) []byte {
	if t := r.turn(); t.Messages == nil && r.first() == r.Turn && plain(t) && t.Role == "" {
		return tensor.AppendQuoted(b, t.Texts[0])
	}
	return inputMessages.appendConversation(b, r, "")
}

func (c *responses) Event(a *Answer, payload []byte, at int64) {
	data := c.begun(a, payload)
	if isDone(data) {
		a.Ended = true
		return
	}
	s := scan{b: data}
	if a.Streamed {
		a.responseEvent(&s)
	} else {
		a.response(&s)
	}
	if !s.end() {
		a.fault("this is not a response of the responses API: %s", excerpt(data))
		return
	}
	a.chunk(at)
}

// responseEvent reads one event of a stream. The type says what the delta is; both are read before they are used, because their
// order is not fixed.
func (a *Answer) responseEvent(s *scan) {
	var kind, delta, message []byte
	at := scan{}
	for name := range s.members {
		switch string(name) {
		case "type":
			kind = s.str()
		case "delta":
			delta = s.str()
		case "message":
			message = s.str()
		case "response":
			at = scan{b: s.value()}
		}
	}
	switch string(kind) {
	case `"response.output_text.delta"`, `"response.refusal.delta"`:
		a.text(delta, llm.Text)
	case `"response.reasoning_text.delta"`, `"response.reasoning_summary_text.delta"`, `"response.reasoning.delta"`:
		a.text(delta, llm.Thought)
	case `"response.function_call_arguments.delta"`, `"response.mcp_call_arguments.delta"`, `"response.custom_tool_call_input.delta"`:
		a.text(delta, llm.Tool)
	case `"response.completed"`, `"response.incomplete"`:
		a.summary(&at)
		a.Ended = true
	case `"response.failed"`, `"error"`:
		a.fault("the server reports an error: %s", excerpt(append(at.b, message...)))
	}
}

// summary reads the usage of a streamed response, whose content was read before.
func (a *Answer) summary(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "usage":
			a.openAIUsage(s)
		case "status":
			a.finish(s.str())
		}
	}
}

// response reads a whole response.
func (a *Answer) response(s *scan) {
	for name := range s.members {
		switch string(name) {
		case "usage":
			a.openAIUsage(s)
		case "status":
			if q := s.str(); string(q) == `"failed"` {
				a.fault("the response has the status failed")
			} else if a.finish(q) {
				a.Ended = true
			}
		case "output":
			for range s.elements {
				a.outputItem(s)
			}
		}
	}
}

// outputItem reads a message, reasoning or a tool call.
func (a *Answer) outputItem(s *scan) {
	kind := llm.Text
	for name := range s.members {
		switch string(name) {
		case "type":
			switch string(s.str()) {
			case `"reasoning"`:
				kind = llm.Thought
			case `"function_call"`:
				kind = llm.Tool
			}
		case "content", "summary":
			for range s.elements {
				a.part(s, kind)
			}
		case "arguments":
			a.text(s.str(), llm.Tool)
		}
	}
}

// part reads the text of one part.
func (a *Answer) part(s *scan, kind llm.ChunkKind) {
	for name := range s.members {
		switch string(name) {
		case "text", "refusal":
			a.text(s.str(), kind)
		}
	}
}
