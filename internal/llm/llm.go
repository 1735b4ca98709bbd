// Package llm holds the words that the parts of a language-model run share: what is asked (a Conversation of
// Turns) and what came back (a Sample with its Chunks and token counts). It is plain data and imports nothing that
// sends or writes.
//
// The parts stand below it, one idea each: dataset makes conversations out of files and numbers, endpoint turns a
// turn into a request body and an answer into chunks, metric turns samples into numbers, artifact writes the files
// that other tools read, and load drives the engine.
package llm

import (
	"encoding/json"
	"time"

	"github.com/redline-bench/redline/internal/record"
)

// Conversation is one session: its turns are asked one after the other, each after the answer to the one before.
type Conversation struct {
	// ID names the session in every file; it is unique in a run.
	ID string
	// System opens the conversation, where there is one.
	System string
	Turns  []Turn
	// Alone: each turn stands for itself, what was said before is not sent again.
	Alone bool
	// Again: the same conversation was asked before, under another ID.
	Again bool
}

// Turn is one request of a conversation, before an endpoint makes a body of it.
type Turn struct {
	Role string // empty: user
	// Texts are the text parts in order. Query and Passages are set in their place where documents are ranked.
	Texts    []string
	Query    string
	Passages []string
	// Media are parts other than text, as URLs or data URLs.
	Media []Media
	// Messages, when set, are the whole chat so far as it shall be sent; Texts are then only counted.
	Messages json.RawMessage
	Tools    json.RawMessage
	// Raw, when set, is the whole request body: it is sent as it stands.
	Raw json.RawMessage
	// Extra are fields that are merged into the body.
	Extra map[string]json.RawMessage
	// MaxTokens is the output length asked for; 0 is the server's choice.
	MaxTokens int
	// InputTokens is the length that a made prompt has by the tokenizer; 0 where it must be counted.
	InputTokens int
	// At is when the turn is due, from the start of the run, where Timed; Delay is the pause after the answer to
	// the turn before.
	At    time.Duration
	Timed bool
	Delay time.Duration
	Model string // in place of the run's model
}

// Media is an image, a sound or a video.
type Media struct {
	Kind MediaKind
	URL  string // as it is sent: data:…;base64,… or an address
	// UUID is the name under which a server may keep an image; empty: none.
	UUID string
}

// MediaKind says what a part shows.
type MediaKind uint8

// The kinds.
const (
	Image MediaKind = iota
	Audio
	Video
)

func (k MediaKind) String() string { return [...]string{"images", "audio", "videos"}[k] }

// Sample is one ended request, read and counted. Times are readings of clock.Now.
type Sample struct {
	Index        uint64 // in the order of their ends
	Conversation string
	Turn         int
	// RequestID and Session are what the request and its conversation are called in headers.
	RequestID, Session string
	Slot               uint32
	Warmup             bool
	Due, Sent          int64
	Headers            int64 // first byte of the answer; of a stream, its first event, whatever that carries
	Last               int64 // the last event that is no end mark: content, or the server's counts
	End                int64 // the end of the answer, [DONE] included
	Class              record.Class
	Code               int // the HTTP or gRPC status where the server refused
	// Err says what went wrong where Class is not OK.
	Err string
	// Streamed: the answer came as a stream, so its first chunk has a time of its own.
	Streamed bool
	// Cut: the client ended the request itself, because it was told to.
	Cut bool
	// Chunks are the pieces of the answer that carried something, in order. They are valid until the sample's
	// consumer returns.
	Chunks []Chunk
	// Asked is the output length asked for; 0 none.
	Asked     int
	Input     Count
	Output    Count // answer tokens, without reasoning
	Reasoning Count
	Usage     *Usage // what the server said, if anything
	// Own is what our tokenizer counted, where it did so whatever the counts above come from.
	Own *Own
	// Implausible: the server's count of output tokens cannot be true, because the response has too many events with text.
	Implausible bool
	// AtLimit: the server says that it ended the response at a limit of its length.
	AtLimit bool
	// Text and Thought are the joined answer and its reasoning, where somebody wants them.
	Text, Thought string
	// Bytes on the wire: payload of the request and of its answers.
	In, Out uint64
	// Payload is the body of the request and Answers what came back, a piece an event as it was on the wire,
	// where a file wants them (artifact.Writer.Wants). Both are valid as long as Chunks.
	Payload []byte
	Answers []Answer
}

// Answer is one piece of the answer as it came: an event with its framing, or the whole body.
type Answer struct {
	At   int64
	Data []byte
}

// Chunk is one piece of a streamed answer. An answer that is not streamed has one.
type Chunk struct {
	At     int64
	Kind   ChunkKind
	Tokens int32 // what it carries, where it is known; 0 unknown
}

// ChunkKind says what a chunk carries.
type ChunkKind uint8

// The kinds. Role-only, usage-only and end marks are no chunks.
const (
	Text ChunkKind = iota
	Thought
	Tool
	Other // an embedding, a ranking, an image
)

// Count is a number of tokens and where it comes from.
type Count struct {
	Tokens int
	From   Origin
}

// Origin is the source of a token count.
type Origin uint8

// The sources.
const (
	Unknown   Origin = iota
	Server           // the server's usage
	Tokenizer        // our own tokenizer on the text
	Chunks           // one token a chunk: a guess
	Counted          // the chunks themselves: token ids, or one token each by the API's rule
)

var originNames = [...]string{"unknown", "server usage", "tokenizer", "chunks", "response tokens"}

func (o Origin) String() string { return originNames[o] }

// Own are the counts of our own tokenizer; -1 where it did not count. Prompt is the prompt as the server should see it, with the chat
// template and special tokens.
type Own struct{ Prompt, Output int }

// Template is the number of tokens that a server's chat template adds to the texts of the first turn of a conversation, and of each
// later turn. The zero value adds nothing.
type Template struct {
	First int `json:"first,omitzero"`
	Later int `json:"later,omitzero"`
}

// Tokens is what the template adds to a request for a turn, which carries the earlier turns too. Requests that a file describes are not
// known to be written by the template.
func (t Template) Tokens(c *Conversation, turn int) int {
	switch now := &c.Turns[turn]; {
	case now.Messages != nil, now.Raw != nil:
		return 0
	case c.Alone:
		return t.First
	}
	return t.First + turn*t.Later
}

// Estimate is how a server counts generated text, where no tokenizer does. The zero value means that a word counts as one token.
type Estimate struct {
	PerWord  float64  `json:"tokens_per_word,omitzero"`
	Template Template `json:"chat_template,omitzero"`
	By       string   `json:"by,omitzero"` // who counted
}

// Usage is what the server counted. A field that it left out is -1.
type Usage struct {
	Prompt, Completion, Total, Reasoning, Cached int
}
