// Package tokenizer counts and makes tokens as a language model's own tokenizer does. It reads the files that come
// with models: Hugging Face tokenizer.json, tiktoken ranks and SentencePiece models, and renders chat templates.
//
// Text goes through a fixed line of parts: added tokens are found and set apart, the rest is normalized (package
// normal), cut into words (package split), and each word becomes ids (package model); a post-processor puts special
// tokens around. Ids are those of the `tokenizers` package; package chars has the characters and patterns that all parts share.
package tokenizer

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// Tokenizer turns text into ids and back. It is safe for concurrent use.
type Tokenizer struct {
	name      string
	model     model.Model
	added     *added
	normalize normal.Normalizer // nil: none
	pre       split.Stage       // nil: none
	post      post
	decoder   decoder
	limit     *limit // truncation and padding; nil: none
	chat      *chat  // nil: no template

	states *states
	guard  *chars.Guard
}

// newTokenizer makes a tokenizer without parts.
func newTokenizer() *Tokenizer {
	return &Tokenizer{name: "tokenizer", states: &states{}, guard: &chars.Guard{}}
}

// Err reports whether some text so far took more time or memory than a tokenizer may take. Its ids and counts are then
// incomplete.
func (t *Tokenizer) Err() error {
	if err := t.guard.Err(); err != nil {
		return fmt.Errorf("tokenizer %s: %w", t.name, err)
	}
	return nil
}

// states are the scratch memories that are not in use.
type states struct {
	mu   sync.Mutex
	free []*state
	made int
}

// state is the scratch memory of one call.
type state struct {
	work  split.Work
	mem   normal.Memory
	model *model.Scratch
	spare []int
}

func (s *states) get() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		st := s.free[n-1]
		s.free = s.free[:n-1]
		return st
	}
	s.made++
	// A cache takes megabytes; more callers at once than processors do not get one each.
	return &state{model: model.NewScratch(s.made <= 2*runtime.GOMAXPROCS(0))}
}

func (s *states) put(st *state) {
	s.mu.Lock()
	s.free = append(s.free, st)
	s.mu.Unlock()
}

// Name says what the tokenizer was read from, in a word or two.
func (t *Tokenizer) Name() string { return t.name }

// Whole is the same tokenizer without the truncation and padding that its file may request: every token of a text
// is there. Counting tokens that a server will see wants it.
func (t *Tokenizer) Whole() *Tokenizer {
	if t.limit == nil {
		return t
	}
	w := *t
	w.limit = nil
	return &w
}

// Encode is the ids of a text; special puts the special tokens around that the model wants.
func (t *Tokenizer) Encode(text string, special bool) []int {
	return t.AppendIDs(nil, text, special)
}

// Count is how many ids a text has.
func (t *Tokenizer) Count(text string, special bool) int {
	st := t.states.get()
	st.spare = t.appendIDs(st.spare[:0], text, special, st)
	n := len(st.spare)
	t.states.put(st)
	return n
}

// AppendIDs appends the ids of a text to dst.
func (t *Tokenizer) AppendIDs(dst []int, text string, special bool) []int {
	st := t.states.get()
	dst = t.appendIDs(dst, text, special, st)
	t.states.put(st)
	return dst
}

func (t *Tokenizer) appendIDs(dst []int, text string, special bool, st *state) []int {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	var around post
	if special {
		around = t.post
	}
	from := len(dst)
	dst = append(dst, around.before...)
	body := len(dst)
	dst = t.body(dst, text, st)
	if t.limit != nil {
		dst = t.limit.truncate(dst, body, len(around.before)+len(around.after))
	}
	dst = append(dst, around.after...)
	if t.limit != nil {
		dst = t.limit.pad(dst, from)
	}
	return dst
}

// body appends the ids of a text without special tokens around.
func (t *Tokenizer) body(dst []int, text string, st *state) []int {
	for at := 0; at < len(text); {
		// Tokens that are searched for in the text as it is.
		m := t.added.exact.find(text, at)
		if m.from > at {
			dst = t.section(dst, text[at:m.from], at == 0, st)
		}
		if m.found {
			dst = append(dst, m.id)
		}
		at = m.to
	}
	return dst
}

// section normalizes a text and searches for the tokens that are found in normalized text.
func (t *Tokenizer) section(dst []int, text string, atStart bool, st *state) []int {
	st.mem.Cut = false
	if t.normalize != nil {
		st.mem.Guard, st.mem.Room = t.guard, chars.Room(len(text))
		text = t.normalize.Normalize(text, &st.mem)
	}
	atStart = atStart && !st.mem.Cut
	for at := 0; at < len(text); {
		m := t.added.normalized.find(text, at)
		if m.from > at {
			dst = t.plain(dst, text[at:m.from], atStart && at == 0, st)
		}
		if m.found {
			dst = append(dst, m.id)
		}
		at = m.to
	}
	return dst
}

// plain cuts a text without added tokens into words and appends their ids.
func (t *Tokenizer) plain(dst []int, text string, atStart bool, st *state) []int {
	if t.pre == nil {
		return t.model.Append(dst, text, st.model)
	}
	w := &st.work
	w.Reset(text, atStart)
	t.pre.Apply(w)
	for _, sp := range w.Spans {
		dst = t.model.Append(dst, w.Text[sp.Start:sp.End], st.model)
	}
	return dst
}
