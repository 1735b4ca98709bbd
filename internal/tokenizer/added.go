package tokenizer

import (
	"strings"
	"unicode"
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
	texts   map[int]string // what decoding writes: the normalized content
	special map[string]bool
	// exact are searched for in the text as it is, normalized in the normalized text.
	exact, normalized *finder
}

// newAdded assigns ids to tokens: that of the model if it has the token, else the next free one. Like the package, it does not
// read the ids in a file.
func newAdded(tokens []addedToken, m model.Model, n normal.Normalizer, g *chars.Guard) *added {
	a := &added{texts: map[int]string{}, special: map[string]bool{}}
	ids, last := map[string]int{}, map[int]addedToken{}
	next := m.Size()
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		id, ok := ids[t.Content]
		if !ok {
			if id, ok = m.ID(t.Content); !ok {
				id = next
				next++
			}
		}
		ids[t.Content], last[id], a.texts[id] = id, t, t.Content
		if t.Normalized && n != nil {
			mem := normal.Memory{Guard: g, Room: chars.Room(len(t.Content))}
			a.texts[id] = strings.Clone(n.Normalize(t.Content, &mem))
		}
		a.special[t.Content] = a.special[t.Content] || t.Special
	}
	exact, normalized := map[string]foundToken{}, map[string]foundToken{}
	for id, t := range last {
		if t.Normalized {
			normalized[a.texts[id]] = foundToken{t, id}
		} else {
			exact[t.Content] = foundToken{t, id}
		}
	}
	a.exact, a.normalized = newFinder(exact), newFinder(normalized)
	return a
}

// finder finds the first of a set of texts, and of those at one place the longest.
type finder struct {
	trie   *model.Trie // values are indexes of tokens
	tokens []foundToken
	pairs  [1 << 10]uint64 // first two bytes that a text may have
	only   int             // the first byte of all texts; -1: several
}

type foundToken struct {
	addedToken
	id int
}

// match is a token found from a place to another; without one, it is the end of the text.
type match struct {
	from, to, id int
	found        bool
}

func newFinder(tokens map[string]foundToken) *finder {
	f := &finder{only: -1}
	values := map[string]int32{}
	delete(tokens, "")
	for text, t := range tokens {
		if values[text] = int32(len(f.tokens)); len(f.tokens) == 0 {
			f.only = int(text[0])
		} else if f.only != int(text[0]) {
			f.only = -1
		}
		f.tokens = append(f.tokens, t)
		for second := range 256 {
			if len(text) == 1 || byte(second) == text[1] {
				f.pairs[int(text[0])<<2|second>>6] |= 1 << (second & 63)
			}
		}
	}
	f.trie = model.NewTrie(values)
	return f
}

// find finds the first token in a text at or after a place.
func (f *finder) find(text string, start int) match {
	for i := f.candidate(text, start); i < len(text); i = f.candidate(text, i) {
		t, end := f.longest(text, i)
		if t == nil {
			i++
			continue
		}
		if m, ok := t.settle(text, start, i, end); ok {
			return m
		}
		i = end
	}
	return match{from: len(text), to: len(text)}
}

// candidate is the next place where a token may begin; the end of the text if there is none.
func (f *finder) candidate(text string, i int) int {
	if len(f.tokens) == 0 {
		return len(text)
	}
	if f.only >= 0 {
		if n := strings.IndexByte(text[i:], byte(f.only)); n >= 0 {
			return i + n
		}
		return len(text)
	}
	for ; i+1 < len(text); i++ {
		if f.pairs[int(text[i])<<2|int(text[i+1]>>6)]>>(text[i+1]&63)&1 != 0 {
			return i
		}
	}
	return i // the last byte: a token of one byte may be there
}

// longest is the longest token that a place begins with, and where it ends.
func (f *finder) longest(text string, i int) (best *foundToken, end int) {
	for node := int32(0); i < len(text); {
		if node = f.trie.Next(node, text[i]); node < 0 {
			break
		}
		i++
		if v := f.trie.Value(node); v >= 0 {
			best, end = &f.tokens[v], i
		}
	}
	return best, end
}

// settle applies the token's rules about the text around it.
func (t *foundToken) settle(text string, start, from, to int) (match, bool) {
	if t.SingleWord {
		classes := chars.Classes()
		before, n := utf8.DecodeLastRuneInString(text[:from])
		after, m := utf8.DecodeRuneInString(text[to:])
		if n > 0 && classes.Of(before)&chars.Word != 0 || m > 0 && classes.Of(after)&chars.Word != 0 {
			return match{}, false
		}
	}
	if t.LStrip {
		from = start + len(strings.TrimRightFunc(text[start:from], unicode.IsSpace))
	}
	if t.RStrip {
		to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
	}
	return match{from, to, t.id, true}, true
}
