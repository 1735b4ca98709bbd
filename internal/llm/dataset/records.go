package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset/media"
)

// item is one parsed record of a file.
type item struct {
	session string // empty: the record is a whole conversation
	system  string
	alone   bool
	turns   []llm.Turn
	// blocks is set if the text must be generated: a length, and the ids of its parts.
	blocks *blocks
	turn   int32 // number of the turn, if the file has one
	tokens int   // input tokens, if the file states them beside a text
}

// reader turns the records of a file into items.
type reader struct {
	format Format
	key    string
	dir    string // of the file: media paths may start there
	// real: media files are read; otherwise only their existence is checked.
	real bool
	// parents are the chats that a chat of Bailian's traces follows.
	parents map[int64]int64
	// base is when the first request of captured ones was made, by the Unix clock.
	base time.Duration
}

func (r *reader) read(raw []byte) (item, error) {
	switch r.format {
	case Text:
		return item{turns: []llm.Turn{{Texts: []string{strings.ToValidUTF8(string(raw), "\ufffd")}}}}, nil
	case Prompts, CSV:
		return r.prompt(raw)
	case Single, Pool:
		return r.single(raw)
	case Multi:
		return r.multi(raw)
	case Mooncake, GAPayload:
		return r.trace(raw)
	case Bailian:
		return r.bailian(raw)
	case BurstGPT:
		return burstGPT(raw)
	case SageMaker:
		return r.capture(raw)
	case RawBody:
		return rawBody(raw)
	case Inputs:
		return inputs(raw)
	case PAInputs:
		return paInputs(raw)
	case ShareGPT:
		return shareGPT(raw)
	case Messages:
		return messages(raw)
	}
	return item{}, fmt.Errorf("unknown format %s", r.format)
}

// decode reads JSON and returns readable errors.
func decode(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return jsonError(err)
	}
	return nil
}

func jsonError(err error) error {
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not valid JSON at byte %d: %w", se.Offset, err)
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "the record"
		if te.Field != "" {
			what = "the field " + te.Field
		}
		return fmt.Errorf("%s is a %s, expected %s", what, te.Value, kindName(te.Type.Kind().String()))
	}
	return err
}

func kindName(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice":
		return "a list"
	case "int", "float64", "int64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

func names(fields map[string]json.RawMessage) []string {
	list := slices.Sorted(maps.Keys(fields))
	if len(list) > 12 {
		list = append(list[:12], "…")
	}
	return list
}

// prompt reads a record with a prompt under a key: a text, a list of texts, or a chat.
func (r *reader) prompt(raw []byte) (item, error) {
	var fields map[string]json.RawMessage
	if err := decode(raw, &fields); err != nil {
		return item{}, err
	}
	key := r.key
	if key == "" {
		i := slices.IndexFunc(keys, func(k string) bool { return fields[k] != nil })
		if i < 0 {
			return item{}, fmt.Errorf("expected the prompt in one of the fields %s, found %s; name it with --input-key",
				strings.Join(keys, ", "), strings.Join(names(fields), ", "))
		}
		key = keys[i]
	}
	value, ok := fields[key]
	if !ok {
		return item{}, fmt.Errorf("expected the prompt in the field %q, found %s; name it with --input-key", key, strings.Join(names(fields), ", "))
	}
	t := llm.Turn{}
	for _, k := range []string{"output_length", "max_tokens"} {
		if v, ok := fields[k]; ok && t.MaxTokens == 0 {
			if err := decode(v, &t.MaxTokens); err != nil || t.MaxTokens < 0 {
				return item{}, fmt.Errorf("the field %s is %.40s, expected a number of tokens", k, v)
			}
		}
	}
	if err := promptValue(&t, value); err != nil {
		return item{}, fmt.Errorf("the field %q: %w", key, err)
	}
	return item{turns: []llm.Turn{t}}, nil
}

func promptValue(t *llm.Turn, value json.RawMessage) error {
	var one string
	if json.Unmarshal(value, &one) == nil && value[0] == '"' {
		if one == "" {
			return errors.New("expected a text, found an empty one")
		}
		t.Texts = []string{one}
		return nil
	}
	if json.Unmarshal(value, &t.Texts) == nil && len(t.Texts) > 0 {
		return nil
	}
	t.Texts = nil
	if isList(value) && chat(t, value) == nil {
		return nil
	}
	return fmt.Errorf("expected a text, a list of texts or a list of messages, found %.60s", value)
}

// ms is a time of a file in milliseconds.
func ms(v float64) (time.Duration, error) {
	if math.IsNaN(v) || v < 0 || v > 1e13 {
		return 0, fmt.Errorf("the time %v is not a valid number of milliseconds", v)
	}
	return time.Duration(math.Round(v * 1e6)), nil
}

// timing sets when a turn is due.
func timing(t *llm.Turn, stamp, delay *float64) error {
	var err error
	if stamp != nil {
		t.Timed = true
		if t.At, err = ms(*stamp); err != nil {
			return fmt.Errorf("timestamp: %w", err)
		}
	}
	if delay != nil {
		if t.Delay, err = ms(*delay); err != nil {
			return fmt.Errorf("delay: %w", err)
		}
	}
	return nil
}

// word is a name that may be written as a number.
func word(raw json.RawMessage) string {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// singleTurn is AIPerf's record of one turn.
type singleTurn struct {
	Text         *string                    `json:"text"`
	Texts        []named                    `json:"texts"`
	Image        *string                    `json:"image"`
	Images       []named                    `json:"images"`
	ImageUUIDs   []string                   `json:"image_uuids"`
	Audio        *string                    `json:"audio"`
	Audios       []named                    `json:"audios"`
	Video        *string                    `json:"video"`
	Videos       []named                    `json:"videos"`
	Timestamp    *float64                   `json:"timestamp"`
	Delay        *float64                   `json:"delay"`
	Role         string                     `json:"role"`
	Session      json.RawMessage            `json:"session_id"`
	OutputLength *int                       `json:"output_length"`
	Extra        map[string]json.RawMessage `json:"extra"`
	Model        string                     `json:"model"`
}

// named is a text or a path, or several under a name.
type named struct {
	Name     string   `json:"name"`
	Contents []string `json:"contents"`
	UUIDs    []string `json:"uuids"`
}

// UnmarshalJSON reads both forms.
func (n *named) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*n = named{Contents: []string{s}}
		return nil
	}
	type plain named
	return json.Unmarshal(b, (*plain)(n))
}

func (r *reader) single(raw []byte) (item, error) {
	var s singleTurn
	if err := decode(raw, &s); err != nil {
		return item{}, err
	}
	t, err := r.turn(&s)
	return item{session: word(s.Session), alone: true, turns: []llm.Turn{t}}, err
}

func (r *reader) multi(raw []byte) (item, error) {
	var m struct {
		Session json.RawMessage `json:"session_id"`
		Turns   []singleTurn    `json:"turns"`
	}
	if err := decode(raw, &m); err != nil {
		return item{}, err
	}
	if len(m.Turns) == 0 {
		return item{}, errors.New(`expected at least one turn in the field "turns"`)
	}
	it := item{session: word(m.Session)}
	for i := range m.Turns {
		t, err := r.turn(&m.Turns[i])
		if err != nil {
			return item{}, fmt.Errorf("turn %d: %w", i+1, err)
		}
		it.turns = append(it.turns, t)
	}
	return it, it.liftSystem()
}

// liftSystem makes a first turn with the role system the system prompt of the conversation: it gets no response of its own.
func (it *item) liftSystem() error {
	if t := &it.turns[0]; !strings.EqualFold(t.Role, "system") || len(t.Media) > 0 {
		return nil
	}
	it.system = strings.Join(it.turns[0].Texts, " ")
	if it.turns = it.turns[1:]; len(it.turns) == 0 {
		return errors.New("expected a turn after the system message")
	}
	return nil
}

// turn makes a turn of AIPerf's record.
func (r *reader) turn(s *singleTurn) (llm.Turn, error) {
	t := llm.Turn{Role: s.Role, Extra: s.Extra, Model: s.Model}
	switch {
	case s.Timestamp != nil && s.Delay != nil && *s.Timestamp != 0 && *s.Delay != 0:
		return t, errors.New("timestamp and delay exclude each other")
	case s.OutputLength != nil && *s.OutputLength <= 0:
		return t, fmt.Errorf("output_length is %d, expected at least 1", *s.OutputLength)
	case s.OutputLength != nil:
		t.MaxTokens = *s.OutputLength
	}
	if err := timing(&t, s.Timestamp, s.Delay); err != nil {
		return t, err
	}
	if s.Text != nil && s.Texts != nil {
		return t, errors.New("text and texts exclude each other")
	}
	if s.Text != nil {
		t.Texts = []string{*s.Text}
	}
	for _, n := range s.Texts {
		switch n.Name {
		case "query", "queries":
			t.Query = strings.Join(append([]string{t.Query}, n.Contents...), "")
		case "passages", "passage":
			t.Passages = append(t.Passages, n.Contents...)
		default:
			t.Texts = append(t.Texts, n.Contents...)
		}
	}
	for _, m := range []struct {
		kind llm.MediaKind
		name string
		one  *string
		more []named
	}{{llm.Image, "image", s.Image, s.Images}, {llm.Audio, "audio", s.Audio, s.Audios}, {llm.Video, "video", s.Video, s.Videos}} {
		if m.one != nil && m.more != nil {
			return t, fmt.Errorf("%s and %ss exclude each other", m.name, m.name)
		}
		if m.kind == llm.Image && s.ImageUUIDs != nil {
			var err error
			if m.more, err = s.withUUIDs(); err != nil {
				return t, err
			}
		}
		if m.one != nil {
			m.more = []named{{Contents: []string{*m.one}}}
		}
		if err := r.media(&t, m.kind, m.more); err != nil {
			return t, err
		}
	}
	if len(t.Texts) == 0 && t.Query == "" && len(t.Passages) == 0 && len(t.Media) == 0 {
		return t, errors.New("expected one of the fields text, texts, image, images, audio, audios, video, videos")
	}
	return t, nil
}

// withUUIDs returns the images of a turn with the names under which a server caches them. A name without an image refers to an
// image that the server already has.
func (s *singleTurn) withUUIDs() ([]named, error) {
	list := s.Images
	if list == nil {
		list = make([]named, len(s.ImageUUIDs))
		for i := range list {
			list[i].Contents = []string{""}
		}
	}
	switch {
	case s.Image != nil:
		return nil, errors.New("image_uuids need the field images, not image")
	case len(list) != len(s.ImageUUIDs):
		return nil, fmt.Errorf("%d image_uuids do not match %d images", len(s.ImageUUIDs), len(list))
	case slices.Contains(s.ImageUUIDs, ""):
		return nil, errors.New("one of image_uuids is empty")
	}
	for i := range list {
		if list[i].UUIDs != nil || len(list[i].Contents) != 1 {
			return nil, errors.New("image_uuids need images that are plain texts; otherwise write uuids into each image")
		}
		list[i].UUIDs = s.ImageUUIDs[i : i+1]
	}
	return list, nil
}

func (r *reader) media(t *llm.Turn, kind llm.MediaKind, list []named) error {
	for _, n := range list {
		if n.UUIDs != nil && len(n.UUIDs) != len(n.Contents) {
			return fmt.Errorf("%d uuids do not match %d contents", len(n.UUIDs), len(n.Contents))
		}
		for i, c := range n.Contents {
			part := llm.Media{Kind: kind}
			if n.UUIDs != nil {
				part.UUID = n.UUIDs[i]
			}
			if c == "" && part.UUID != "" {
				t.Media = append(t.Media, part)
				continue
			}
			if !r.real {
				if err := media.Check(c, r.dir); err != nil {
					return err
				}
				t.Media = append(t.Media, part)
				continue
			}
			var err error
			if part.URL, err = media.Of(c, r.dir); err != nil {
				return err
			}
			t.Media = append(t.Media, part)
		}
	}
	return nil
}
