package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
)

// object checks that a body is a JSON object and keeps a copy of it without white space around.
func object(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("expected a request body, which is a JSON object, found %.40s", raw)
	}
	if len(raw) == 2 {
		return nil, errors.New("expected a request body, found an empty object")
	}
	return bytes.Clone(raw), nil
}

func rawBody(raw []byte) (item, error) {
	var text json.RawMessage
	if err := decode(raw, &text); err != nil {
		return item{}, err
	}
	body, err := object(text)
	return item{alone: true, turns: []llm.Turn{{Raw: body}}}, err
}

// inputs reads an element of AIPerf's inputs.json.
func inputs(raw []byte) (item, error) {
	var e struct {
		Session  json.RawMessage   `json:"session_id"`
		Payloads []json.RawMessage `json:"payloads"`
	}
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	if len(e.Payloads) == 0 {
		return item{}, errors.New(`expected at least one request body in the field "payloads"`)
	}
	it := item{session: word(e.Session), alone: true}
	for i, p := range e.Payloads {
		body, err := object(p)
		if err != nil {
			return item{}, fmt.Errorf("payload %d: %w", i+1, err)
		}
		it.turns = append(it.turns, llm.Turn{Raw: body})
	}
	return it, nil
}

// paInputs reads an element of perf_analyzer's inputs: a body with its times, the inputs of a model by name, or a list of them,
// which is a conversation.
func paInputs(raw []byte) (item, error) {
	if isList(raw) {
		var list []json.RawMessage
		if err := decode(raw, &list); err != nil {
			return item{}, err
		}
		var all item
		for i, e := range list {
			if isList(e) {
				return item{}, fmt.Errorf("step %d is a list in a list", i+1)
			}
			one, err := paInputs(e)
			if err != nil {
				return item{}, fmt.Errorf("step %d: %w", i+1, err)
			}
			all.turns, all.alone = append(all.turns, one.turns...), true
		}
		if len(all.turns) == 0 {
			return item{}, errors.New("expected at least one step in the list")
		}
		return all, nil
	}
	var fields map[string]json.RawMessage
	if err := decode(raw, &fields); err != nil {
		return item{}, err
	}
	if len(fields) == 0 {
		return item{}, errors.New("expected inputs, found an empty object")
	}
	for k, v := range fields {
		fields[k] = single(v)
	}
	it := item{session: word(fields["session_id"]), alone: true}
	t := llm.Turn{Model: word(fields["model"])}
	var err error
	if t.At, t.Timed, err = stamp(fields, "timestamp"); err != nil {
		return it, err
	}
	if t.Delay, _, err = stamp(fields, "delay"); err != nil {
		return it, err
	}
	if p, ok := fields["payload"]; ok {
		t.Raw, err = object(p)
		t.Model = ""
	} else {
		for _, k := range []string{"session_id", "timestamp", "delay", "model"} {
			delete(fields, k)
		}
		err = tensors(&t, fields)
	}
	it.turns = []llm.Turn{t}
	return it, err
}

// single unwraps a value from perf_analyzer's list and object.
func single(v json.RawMessage) json.RawMessage {
	var content struct {
		Content json.RawMessage `json:"content"`
		Shape   json.RawMessage `json:"shape"`
	}
	if len(v) > 0 && v[0] == '{' && json.Unmarshal(v, &content) == nil && isList(content.Content) {
		v = content.Content
	}
	var list []json.RawMessage
	if isList(v) && json.Unmarshal(v, &list) == nil && len(list) == 1 {
		return list[0]
	}
	return v
}

// tensors makes a turn from the inputs of a model. The text is found by its name, or because it is the only one.
func tensors(t *llm.Turn, fields map[string]json.RawMessage) error {
	var text string
	for _, k := range []string{"text_input", "prompt", "PROMPT", "query", "QUERY", "input", "INPUT"} {
		if v, ok := fields[k]; ok && json.Unmarshal(v, &text) == nil {
			t.Texts = []string{text}
			delete(fields, k)
			break
		}
	}
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if t.Texts == nil && json.Unmarshal(fields[k], &text) == nil {
			t.Texts = []string{text}
			delete(fields, k)
		}
	}
	if v, ok := fields["max_tokens"]; ok && json.Unmarshal(v, &t.MaxTokens) == nil && t.MaxTokens > 0 {
		delete(fields, "max_tokens")
	}
	if len(fields) > 0 {
		t.Extra = fields
	}
	if t.Texts == nil && t.Extra == nil {
		return errors.New("expected inputs of a model")
	}
	return nil
}

// chat sets the messages of a turn, and their texts, which are only counted.
func chat(t *llm.Turn, raw json.RawMessage) error {
	var list []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := decode(raw, &list); err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("expected at least one message")
	}
	for i, m := range list {
		if m.Role == "" {
			return fmt.Errorf("message %d has no role", i+1)
		}
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			t.Texts = append(t.Texts, text)
			continue
		}
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(m.Content, &parts) == nil {
			for _, p := range parts {
				if p.Text != "" {
					t.Texts = append(t.Texts, p.Text)
				}
			}
		}
	}
	t.Messages = bytes.Clone(raw)
	return nil
}

// messages reads a chat, or a line of OpenAI's batch files, whose body is sent unchanged.
func messages(raw []byte) (item, error) {
	var e struct {
		Messages     json.RawMessage `json:"messages"`
		Tools        json.RawMessage `json:"tools"`
		Body         json.RawMessage `json:"body"`
		CustomID     string          `json:"custom_id"`
		OutputLength int             `json:"output_length"`
		MaxTokens    int             `json:"max_tokens"`
		MaxNew       int             `json:"max_completion_tokens"`
	}
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	if e.Body != nil {
		body, err := object(e.Body)
		return item{session: e.CustomID, alone: true, turns: []llm.Turn{{Raw: body}}}, err
	}
	if e.Messages == nil {
		return item{}, errors.New(`expected the field "messages"`)
	}
	t := llm.Turn{Tools: bytes.Clone(e.Tools), MaxTokens: max(e.OutputLength, e.MaxTokens, e.MaxNew)}
	err := chat(&t, e.Messages)
	return item{alone: true, turns: []llm.Turn{t}}, err
}

// shareGPT reads a conversation: the human's messages become the turns. The recorded responses only show the number of turns; the
// server sends its own.
func shareGPT(raw []byte) (item, error) {
	type said struct {
		From    string `json:"from"`
		Value   string `json:"value"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var e struct {
		ID            json.RawMessage `json:"id"`
		Conversations []said          `json:"conversations"`
		Conversation  []said          `json:"conversation"`
		System        string          `json:"system"`
	}
	if err := decode(raw, &e); err != nil {
		return item{}, err
	}
	list := slices.Concat(e.Conversations, e.Conversation)
	it := item{system: e.System}
	for i, s := range list {
		from, text := s.From+s.Role, s.Value+s.Content
		switch strings.ToLower(from) {
		case "human", "user", "":
			if from == "" && i > 0 {
				continue // without roles the first message is the human's
			}
			if text != "" {
				it.turns = append(it.turns, llm.Turn{Texts: []string{text}})
			}
		case "system":
			it.system = text
		}
	}
	if len(list) == 0 {
		return it, errors.New(`expected messages in the field "conversations"`)
	}
	return it, nil
}
