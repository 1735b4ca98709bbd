package dataset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
)

// blocks describes a text to generate: its number of tokens, and the ids of its first blocks.
type blocks struct {
	tokens int
	ids    []int64
}

// traceRecord is Mooncake's, AIPerf's and GenAI-Perf's record of one request.
type traceRecord struct {
	InputLength  *int                       `json:"input_length"`
	TextInput    *string                    `json:"text_input"`
	Text         *string                    `json:"text"`
	Messages     json.RawMessage            `json:"messages"`
	Tools        json.RawMessage            `json:"tools"`
	Payload      json.RawMessage            `json:"payload"`
	OutputLength *int                       `json:"output_length"`
	HashIDs      []int64                    `json:"hash_ids"`
	Timestamp    *float64                   `json:"timestamp"`
	Delay        *float64                   `json:"delay"`
	Session      json.RawMessage            `json:"session_id"`
	Extra        map[string]json.RawMessage `json:"extra"`
}

// trace reads one request of recorded traffic. GenAI-Perf's payload files have these fields too; their other fields are merged
// into the body.
func (r *reader) trace(raw []byte) (item, error) {
	var e traceRecord
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	if r.format == GAPayload {
		if e.TextInput == nil {
			e.TextInput = e.Text
		}
		if err := json.Unmarshal(raw, &e.Extra); err == nil {
			for _, k := range []string{"input_length", "text_input", "text", "messages", "tools", "payload", "output_length", "hash_ids", "timestamp", "delay", "session_id", "type"} {
				delete(e.Extra, k)
			}
		}
	}
	return e.item()
}

func (e *traceRecord) item() (item, error) {
	modes := 0
	for _, is := range []bool{e.InputLength != nil, e.TextInput != nil, present(e.Messages), present(e.Payload)} {
		if is {
			modes++
		}
	}
	it := item{session: word(e.Session)}
	t := llm.Turn{}
	if len(e.Extra) > 0 {
		t.Extra = e.Extra
	}
	switch {
	case modes != 1:
		return it, fmt.Errorf("expected exactly one of the fields input_length, text_input, messages, payload, found %d of them", modes)
	case e.HashIDs != nil && e.InputLength == nil:
		return it, errors.New("hash_ids need input_length")
	case present(e.Tools) && !present(e.Messages):
		return it, errors.New("tools need messages")
	case e.OutputLength != nil && *e.OutputLength < 0:
		return it, fmt.Errorf("output_length is %d", *e.OutputLength)
	}
	if e.OutputLength != nil {
		t.MaxTokens = *e.OutputLength
	}
	if err := timing(&t, e.Timestamp, e.Delay); err != nil {
		return it, err
	}
	var err error
	switch {
	case e.InputLength != nil:
		if *e.InputLength < 1 || *e.InputLength > 1<<28 {
			return it, fmt.Errorf("input_length is %d, expected a number of tokens above 0", *e.InputLength)
		}
		it.blocks = &blocks{*e.InputLength, e.HashIDs}
	case e.TextInput != nil:
		t.Texts = []string{*e.TextInput}
	case present(e.Messages):
		it.alone = true
		t.Tools = bytes.Clone(e.Tools)
		err = chat(&t, e.Messages)
	default:
		it.alone = true
		t.Raw, err = object(e.Payload)
	}
	it.turns = []llm.Turn{t}
	return it, err
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// fits returns an error if the ids do not match the length: the last block may be shorter than the others, and tokens without an
// id may follow the blocks, but no block may be empty.
func (b *blocks) fits(size int) error {
	if n := len(b.ids); n > 0 && (n-1)*size >= b.tokens {
		return fmt.Errorf("%d hash_ids of %d tokens do not fit an input_length of %d: the last block would be empty; set the block size with --isl-block-size", n, size, b.tokens)
	}
	return nil
}

// realize generates the text of a trace's request. Equal ids in one file give equal tokens; a shorter block is the start of the
// whole block. Tokens after the blocks are unique. With a chat template the text is shorter: see completer.fit.
func (m *maker) realize(b *blocks, scope string, size int, n uint64) (string, int) {
	text := make([]byte, 0, 6*b.tokens)
	want := max(1, b.tokens-m.frame.overhead(true))
	left := want
	for _, id := range b.ids {
		part := min(size, left)
		text = m.prose.Block(text, m.rand("block "+scope, uint64(id)), part)
		left -= part
	}
	if left > 0 {
		text = m.prose.Block(text, m.rand("tail "+scope, n), left)
	}
	made := strings.TrimPrefix(string(text), " ")
	if !m.prose.Exact() {
		return made, 0
	}
	if got := m.prose.Tokens(made); got != want && m.frame == nil {
		m.inexact++
		return made, got
	}
	return made, b.tokens
}

// stamp reads a time of perf_analyzer's inputs, which may be absent.
func stamp(fields map[string]json.RawMessage, name string) (time.Duration, bool, error) {
	raw, ok := fields[name]
	if !ok {
		return 0, false, nil
	}
	var v float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return 0, false, fmt.Errorf("%s is %.40s, expected a time in milliseconds", name, raw)
	}
	d, err := ms(v)
	if err != nil {
		return 0, false, fmt.Errorf("%s: %w", name, err)
	}
	return d, true, nil
}

// burstColumns are the columns of BurstGPT's tables that are used.
var burstColumns = []string{"Timestamp", "Request tokens", "Response tokens"}

// burstGPT reads a row of BurstGPT: a time in seconds and two lengths. A response of no tokens requests no length.
func burstGPT(raw []byte) (item, error) {
	var row map[string]string
	if err := decode(raw, &row); err != nil {
		return item{}, err
	}
	var v [3]float64
	for i, name := range burstColumns {
		var err error
		if v[i], err = strconv.ParseFloat(row[name], 64); err != nil || v[i] < 0 || i > 0 && v[i] != math.Trunc(v[i]) {
			return item{}, fmt.Errorf("the column %q is %q, expected a number", name, row[name])
		}
	}
	at, in, out := v[0]*1000, int(v[1]), int(v[2])
	e := traceRecord{Timestamp: &at, InputLength: &in, OutputLength: &out}
	return e.item()
}

// bailian reads a request of Alibaba's traces. Its time is in seconds; chats that follow one another are a session,
// named after the first, in the order of their turns.
func (r *reader) bailian(raw []byte) (item, error) {
	var e struct {
		Chat         *int64   `json:"chat_id"`
		Parent       *int64   `json:"parent_chat_id"`
		Timestamp    *float64 `json:"timestamp"`
		InputLength  *int     `json:"input_length"`
		OutputLength *int     `json:"output_length"`
		Turn         int32    `json:"turn"`
		HashIDs      []int64  `json:"hash_ids"`
	}
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	if e.Chat == nil || e.Timestamp == nil || e.InputLength == nil || e.OutputLength == nil {
		return item{}, errors.New("expected the fields chat_id, timestamp, input_length and output_length")
	}
	at := *e.Timestamp * 1000
	it, err := (&traceRecord{Timestamp: &at, InputLength: e.InputLength, OutputLength: e.OutputLength, HashIDs: e.HashIDs}).item()
	if r.parents == nil {
		r.parents = map[int64]int64{}
	}
	if e.Parent != nil && *e.Parent != -1 {
		r.parents[*e.Chat] = *e.Parent
	} else {
		r.parents[*e.Chat] = *e.Chat
	}
	it.session, it.turn = strconv.FormatInt(r.root(*e.Chat), 10), e.Turn
	return it, err
}

// maxChain limits the search for the first chat, in case chats form a circle.
const maxChain = 1 << 12

// root returns the first chat of a chain. A chat whose parent is not in the file is the first of its chain.
func (r *reader) root(chat int64) int64 {
	for range min(len(r.parents), maxChain) {
		parent, known := r.parents[chat]
		if _, there := r.parents[parent]; !known || !there || parent == chat {
			break
		}
		chat = parent
	}
	return chat
}

// capture reads a request that an Amazon SageMaker endpoint captured: its messages, the requested length, and its time since the
// first request. Only chats have messages.
func (r *reader) capture(raw []byte) (item, error) {
	var e struct {
		Data struct {
			Input  *captured `json:"endpointInput"`
			Output captured  `json:"endpointOutput"`
		} `json:"captureData"`
		Event struct {
			Time string `json:"inferenceTime"`
		} `json:"eventMetadata"`
	}
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	at, err := isoTime(e.Event.Time)
	if err != nil {
		return item{}, err
	}
	if e.Data.Input == nil {
		return item{}, errors.New("expected the request in the field captureData.endpointInput")
	}
	var in struct {
		Messages  json.RawMessage `json:"messages"`
		Tools     json.RawMessage `json:"tools"`
		MaxTokens *int            `json:"max_tokens"`
		MaxNew    *int            `json:"max_completion_tokens"`
	}
	var out struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := e.Data.Input.decode(&in); err != nil {
		return item{}, fmt.Errorf("captureData.endpointInput: %w", err)
	}
	_ = e.Data.Output.decode(&out) // a streamed response is not JSON; only its length is needed
	if !present(in.Messages) {
		return item{}, errors.New("the captured request has no messages: only chats can be sent again")
	}
	if in.MaxTokens == nil {
		in.MaxTokens = in.MaxNew
	}
	it, err := (&traceRecord{Messages: in.Messages, Tools: in.Tools, OutputLength: in.MaxTokens}).item()
	if err == nil {
		it.turns[0].Timed, it.turns[0].At = true, at-r.base
	}
	it.tokens = out.Usage.Prompt
	return it, err
}

// captured is one side of a captured request.
type captured struct {
	Data     *string `json:"data"`
	Encoding string  `json:"encoding"`
}

// decode reads the JSON inside; v stays as it is if there is none.
func (c *captured) decode(v any) error {
	if c.Data == nil {
		return nil
	}
	text := []byte(*c.Data)
	switch c.Encoding {
	case "JSON":
	case "BASE64", "":
		var err error
		if text, err = base64.StdEncoding.DecodeString(*c.Data); err != nil {
			return fmt.Errorf("data is not valid base64: %w", err)
		}
	default:
		return nil // a table, which holds no chat
	}
	return decode(text, v)
}

// isoTime converts a time to Unix time. A time without a zone is local.
func isoTime(text string) (time.Duration, error) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return time.Duration(t.UnixNano()), nil
		}
	}
	return 0, fmt.Errorf("eventMetadata.inferenceTime is %q, expected a time such as 2026-01-31T10:00:00Z", text)
}
