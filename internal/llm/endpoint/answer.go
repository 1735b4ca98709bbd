package endpoint

import (
	"bytes"
	"fmt"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// Answer is what was read from one response. It is reused for the next response.
type Answer struct {
	Chunks []llm.Chunk
	// Text and Thought are the response and its reasoning, Calls the names and arguments of tool calls.
	Text, Thought, Calls []byte
	Usage                llm.Usage
	Counted              bool // the server sent its counts
	Streamed             bool // the response is a stream of events
	Finish               []byte
	Ended                bool   // the API's end of a response has come
	Fault                string // the first error of the response
	kind                 llm.ChunkKind
	found                bool // the current event has content
	tokens               int32
	said                 int // the server's token count at the last event
}

// Reset prepares for another response.
func (a *Answer) Reset() {
	*a = Answer{
		Chunks: a.Chunks[:0], Text: a.Text[:0], Thought: a.Thought[:0], Calls: a.Calls[:0], Finish: a.Finish[:0],
		Usage: llm.Usage{Prompt: -1, Completion: -1, Total: -1, Reasoning: -1, Cached: -1},
	}
}

// begin starts an event.
func (a *Answer) begin() { a.found, a.tokens = false, 0 }

// finish sets why the response ended, a quoted JSON string; it returns false for none.
func (a *Answer) finish(quoted []byte) bool {
	if len(quoted) <= 2 {
		return false
	}
	a.Finish = append(a.Finish[:0], quoted[1:len(quoted)-1]...)
	return true
}

// AtLimit reports whether the server says that it ended the response because of a limit of its length.
func (a *Answer) AtLimit() bool {
	switch string(a.Finish) {
	case "length", "max_tokens", "incomplete": // of OpenAI's chat and completions and TGI, of Anthropic, of OpenAI's responses
		return true
	}
	return false
}

// text adds content: a quoted JSON string. It ignores an empty one.
func (a *Answer) text(quoted []byte, kind llm.ChunkKind) {
	if len(quoted) <= 2 {
		return
	}
	switch kind {
	case llm.Text, llm.Other:
		a.Text = jsonscan.Value(quoted).AppendText(a.Text)
	case llm.Thought:
		a.Thought = jsonscan.Value(quoted).AppendText(a.Thought)
	case llm.Tool:
		a.Calls = jsonscan.Value(quoted).AppendText(a.Calls)
	}
	a.mark(kind)
}

// mark notes that the current event has content. If it has several kinds, text takes precedence over a tool call, and a tool
// call over reasoning.
func (a *Answer) mark(kind llm.ChunkKind) {
	if !a.found || kind != llm.Thought && (a.kind == llm.Thought || kind == llm.Text) {
		a.kind = kind
	}
	a.found = true
}

// chunk ends an event: an event with content is a chunk.
func (a *Answer) chunk(at int64) {
	if a.found {
		a.Chunks = append(a.Chunks, llm.Chunk{At: at, Kind: a.kind, Tokens: a.tokens})
	}
}

// counts reads the server's running count of output tokens: the difference from the previous count is the tokens of this event.
func (a *Answer) counts() {
	if n := a.Usage.Completion; a.Streamed && a.found && n > a.said {
		a.tokens = int32(n - a.said)
		a.said = n
	}
}

func (a *Answer) fault(format string, args ...any) {
	if a.Fault == "" {
		a.Fault = fmt.Sprintf(format, args...)
	}
}

// usage sets a count if n is valid.
func (a *Answer) usage(to *int, n int, ok bool) {
	if ok {
		*to = n
		a.Counted = true
	}
}

// count reads a count of the server; a value that is not a whole number changes nothing.
func (a *Answer) count(s *scan, to *int) {
	n, ok := s.number()
	a.usage(to, n, ok)
}

// begun returns the data of an event of a stream, or a body. A body is a fault if a stream was requested.
func (c *common) begun(a *Answer, payload []byte) []byte {
	a.begin()
	if data, ok := event(payload); ok {
		a.Streamed = true
		return data
	}
	if c.Stream {
		a.fault("a stream was requested, but the response is a single body: %s", excerpt(payload))
	}
	return payload
}

// excerpt quotes the start of a server's text, in one line.
func excerpt(b []byte) string {
	const most = 200
	cut := len(b) > most
	if cut {
		b = b[:most]
	}
	s := string(bytes.ToValidUTF8(bytes.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, b), []byte("?")))
	if cut {
		s += "..."
	}
	return s
}

// whole checks that a response is complete: it has the content that its API sends, and a stream has signaled its end. missing is what a
// stream lacks that broke off; empty: the API does not signal the end.
func whole(a *Answer, api, missing string) error {
	switch {
	case len(a.Chunks) == 0 && a.Streamed:
		return formatf("the stream ended without any content")
	case len(a.Chunks) == 0:
		return formatf("the response has no content; expected that of %s", api)
	case a.Streamed && !a.Ended && missing != "":
		return formatf("the stream broke off: %s", missing)
	}
	return nil
}

// doneMark ends streams of OpenAI's kind.
func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// event returns the data of a stream's event, with its lines joined. ok is false if text is not an event.
func event(text []byte) (data []byte, ok bool) {
	if rest, found := bytes.CutPrefix(text, []byte("data: ")); found {
		if end := bytes.IndexByte(rest, '\n'); end >= 0 && len(rest)-end <= 2 {
			return rest[:end], true // one line, the usual case
		}
	}
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return nil, false // a body
	}
	lines := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		if string(name) != "data" {
			continue // other fields have no meaning here: an id, a retry time, a comment
		}
		if lines++; lines == 1 {
			data = value
		} else {
			data = append(append(bytes.Clone(data), '\n'), value...)
		}
	}
	return data, lines > 0
}
