package endpoint

import (
	"bytes"
	"fmt"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// Answer is what was read of one response. It is used again from answer to answer.
type Answer struct {
	Chunks []llm.Chunk
	// Text and Thought are the response and its reasoning, Calls the names and arguments of tool calls.
	Text, Thought, Calls []byte
	Usage                llm.Usage
	Counted              bool // the server sent its counts
	Streamed             bool // it came as a stream of events
	Finish               []byte
	Ended                bool   // the API's end of a response has come
	Fault                string // the first thing that was wrong
	kind                 llm.ChunkKind
	found                bool // the event at hand carries something
	tokens               int32
	said                 int // tokens that the server has counted up to the last event
}

// Reset makes ready for another response.
func (a *Answer) Reset() {
	*a = Answer{
		Chunks: a.Chunks[:0], Text: a.Text[:0], Thought: a.Thought[:0], Calls: a.Calls[:0], Finish: a.Finish[:0],
		Usage: llm.Usage{Prompt: -1, Completion: -1, Total: -1, Reasoning: -1, Cached: -1},
	}
}

// begin starts an event.
func (a *Answer) begin() { a.found, a.tokens = false, 0 }

// finish notes why the response ended, as a quoted JSON string; false for none.
func (a *Answer) finish(quoted []byte) bool {
	if len(quoted) <= 2 {
		return false
	}
	a.Finish = append(a.Finish[:0], quoted[1:len(quoted)-1]...)
	return true
}

// text takes a piece of content: a quoted JSON string. Empty ones carry nothing.
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

// mark notes that the event at hand carries something. The response itself counts before a tool call, that before
// reasoning.
func (a *Answer) mark(kind llm.ChunkKind) {
	if !a.found || kind != llm.Thought && (a.kind == llm.Thought || kind == llm.Text) {
		a.kind = kind
	}
	a.found = true
}

// chunk ends an event: where it carried something it is a chunk.
func (a *Answer) chunk(at int64) {
	if a.found {
		a.Chunks = append(a.Chunks, llm.Chunk{At: at, Kind: a.kind, Tokens: a.tokens})
	}
}

// counts notes the server's running count of output tokens: the difference to the one before is what this event
// carries.
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

// usage sets a count where it is one.
func (a *Answer) usage(to *int, n int, ok bool) {
	if ok {
		*to = n
		a.Counted = true
	}
}

// begun takes the data out of a response: that of an event of a stream, or a body. A body where a stream was asked for
// is a fault.
func (c *common) begun(a *Answer, payload []byte) []byte {
	a.begin()
	if data, ok := event(payload); ok {
		a.Streamed = true
		return data
	}
	if c.Stream {
		a.fault("a stream was asked for and the answer came in one piece: %s", excerpt(payload))
	}
	return payload
}

// excerpt quotes the start of what a server said, in one line.
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

// whole are the rules that all responses share.
func whole(a *Answer, api string) error {
	switch {
	case len(a.Chunks) == 0 && a.Streamed:
		return formatf("the stream ended without any content")
	case len(a.Chunks) == 0:
		return formatf("the answer has no content that %s would have", api)
	}
	return nil
}

// doneMark ends streams of OpenAI's kind.
func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// event is the data of an event of a stream, its lines joined. ok is false for what is no event.
func event(text []byte) (data []byte, ok bool) {
	if rest, found := bytes.CutPrefix(text, []byte("data: ")); found {
		if end := bytes.IndexByte(rest, '\n'); end >= 0 && len(rest)-end <= 2 {
			return rest[:end], true // one line, as most
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
			continue // others mean nothing here: an id, a time to wait, a comment
		}
		if lines++; lines == 1 {
			data = value
		} else {
			data = append(append(bytes.Clone(data), '\n'), value...)
		}
	}
	return data, lines > 0
}
