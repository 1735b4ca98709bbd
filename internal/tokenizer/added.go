package tokenizer

import (
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
)

// addedToken is an entry of added_tokens.
type addedToken struct {
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// added are the tokens that are searched for in the text first.
type added struct {
	ids     map[string]int
	byID    map[int]addedToken
	texts   map[int]string // what decoding writes: the normalized content
	special map[string]bool
	// exact are searched for in the text as it is, normalized in the normalized text.
	exact, normalized *finder
}

// newAdded assigns ids to tokens: that of the model if it has the token, else the next free one. Like the package, it does not
// read the ids in a file.
func newAdded(tokens []addedToken, m model.Model, n normal.Normalizer, g *chars.Guard) *added {
	a := &added{ids: map[string]int{}, byID: map[int]addedToken{}, texts: map[int]string{}, special: map[string]bool{}}
	next := m.Size()
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		id, ok := a.ids[t.Content]
		if ok && a.byID[id] == t {
			continue
		}
		if !ok {
			if id, ok = m.ID(t.Content); !ok {
				id = next
				next++
			}
		}
		text := t.Content
		if t.Normalized && n != nil {
			mem := normal.Memory{Guard: g, Room: chars.Room(len(text))}
			text = strings.Clone(n.Normalize(text, &mem))
		}
		a.ids[t.Content], a.byID[id] = id, t
		a.texts[id] = text
		if t.Special {
			a.special[t.Content] = true
		}
	}
	a.exact, a.normalized = newFinder(), newFinder()
	for id, t := range a.byID {
		if t.Normalized {
			a.normalized.add(a.texts[id], id, t)
		} else {
			a.exact.add(t.Content, id, t)
		}
	}
	return a
}

// finder finds the first of a set of texts, and of those at one place the longest.
type finder struct {
	nodes []findNode
	table *chars.Table
	pairs [1 << 10]uint64 // first two bytes that a text may have
	one   int             // the only first byte; -1: several
	empty bool
}

type findNode struct {
	next  map[byte]int32
	id    int
	ends  bool
	token addedToken
}

// match is a token found from a place to another; without one, it is the end of the text.
type match struct {
	from, to, id int
	found        bool
}

func newFinder() *finder {
	return &finder{nodes: []findNode{{}}, empty: true, table: chars.Classes()}
}

func (f *finder) add(text string, id int, t addedToken) {
	if text == "" {
		return
	}
	if f.empty {
		f.one, f.empty = int(text[0]), false
	} else if f.one != int(text[0]) {
		f.one = -1
	}
	if len(text) == 1 {
		for b := range 256 {
			f.mark(text[0], byte(b))
		}
	} else {
		f.mark(text[0], text[1])
	}
	at := int32(0)
	for i := range len(text) {
		n, ok := f.nodes[at].next[text[i]]
		if !ok {
			n = int32(len(f.nodes))
			f.nodes = append(f.nodes, findNode{})
			if f.nodes[at].next == nil {
				f.nodes[at].next = map[byte]int32{}
			}
			f.nodes[at].next[text[i]] = n
		}
		at = n
	}
	n := &f.nodes[at]
	n.ends, n.id, n.token = true, id, t
}

func (f *finder) mark(a, b byte) {
	k := int(a)<<8 | int(b)
	f.pairs[k>>6] |= 1 << (k & 63)
}

// find finds the first token in a text at or after a place.
func (f *finder) find(text string, start int) match {
	for i := start; ; {
		if i = f.candidate(text, i); i < 0 {
			return match{from: len(text), to: len(text)}
		}
		n, end := f.longest(text, i)
		if n == nil {
			i++
			continue
		}
		if m, ok := f.settle(text, n, start, i, end); ok {
			return m
		}
		i = end
	}
}

// candidate is the next place where a token may begin; -1 if there is none.
func (f *finder) candidate(text string, i int) int {
	if f.empty || i >= len(text) {
		return -1
	}
	if f.one >= 0 {
		n := strings.IndexByte(text[i:], byte(f.one))
		if n < 0 {
			return -1
		}
		return i + n
	}
	for ; i+1 < len(text); i++ {
		k := int(text[i])<<8 | int(text[i+1])
		if f.pairs[k>>6]>>(k&63)&1 != 0 {
			return i
		}
	}
	return i // the last byte: a token of one byte may be there
}

// longest walks as far as some token goes.
func (f *finder) longest(text string, i int) (*findNode, int) {
	var best *findNode
	end, at := 0, int32(0)
	for j := i; j < len(text); j++ {
		n, ok := f.nodes[at].next[text[j]]
		if !ok {
			break
		}
		at = n
		if f.nodes[at].ends {
			best, end = &f.nodes[at], j+1
		}
	}
	return best, end
}

// settle applies the token's rules about the text around it.
func (f *finder) settle(text string, n *findNode, start, from, to int) (match, bool) {
	t := &n.token
	if t.SingleWord {
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		after, _ := utf8.DecodeRuneInString(text[to:])
		if from > 0 && f.is(before, chars.Word) || to < len(text) && f.is(after, chars.Word) {
			return match{}, false
		}
	}
	space := func(r rune) bool { return f.is(r, chars.Space) }
	if t.LStrip {
		from = start + len(strings.TrimRightFunc(text[start:from], space))
	}
	if t.RStrip {
		to = len(text) - len(strings.TrimLeftFunc(text[to:], space))
	}
	return match{from, to, n.id, true}, true
}

func (f *finder) is(r rune, c chars.Class) bool { return f.table.Of(r)&c != 0 }
