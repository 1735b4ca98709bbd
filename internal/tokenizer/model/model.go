// Package model turns words into token ids. It holds the four models of Hugging Face tokenizers: BPE, WordPiece,
// WordLevel and Unigram. A model does not change after it is built; buffers and the cache of words are in a Scratch, and each goroutine
// uses its own Scratch.
package model

import "fmt"

// Model is a vocabulary and the rule that cuts a word into its entries.
type Model interface {
	// Append appends the ids of a word. A word that the model cannot express and for which it has no unknown
	// token adds nothing.
	Append(dst []int, word string, s *Scratch) []int
	// ID finds a token by its text, Token the text by its id.
	ID(token string) (int, bool)
	Token(id int) (string, bool)
	// Size is the number of entries.
	Size() int
	// Each calls f for every entry, in no order.
	Each(f func(token string, id int))
}

// Scratch is the memory of one caller.
type Scratch struct {
	cache *cache
	syms  []uint32
	pairs []uint64
	nodes []node
	heap  []candidate
	best  []bestNode
	buf   []byte
	path  []piece
}

// NewScratch makes one. With a cache it remembers the tokens of short words, in a few megabytes at most.
func NewScratch(cached bool) *Scratch {
	s := &Scratch{}
	if cached {
		s.cache = newCache()
	}
	return s
}

// vocab maps tokens to ids and back.
type vocab struct {
	ids    map[string]int
	tokens map[int]string
	dense  []string // tokens by id, where ids are small numbers
	has    []bool
}

func newVocab(ids map[string]int) (vocab, error) {
	v := vocab{ids: ids}
	top := 0
	for token, id := range ids {
		if id < 0 || id > 1<<31-1 {
			return v, fmt.Errorf("token %q has id %d, which is out of range", token, id)
		}
		top = max(top, id)
	}
	if top > 4*len(ids)+1024 {
		v.tokens = make(map[int]string, len(ids))
		for token, id := range ids {
			v.tokens[id] = token
		}
		return v, nil
	}
	v.dense, v.has = make([]string, top+1), make([]bool, top+1)
	for token, id := range ids {
		v.dense[id], v.has[id] = token, true
	}
	return v, nil
}

// ID finds a token by its text.
func (v *vocab) ID(token string) (int, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Token finds the text of an id.
func (v *vocab) Token(id int) (string, bool) {
	if v.tokens != nil {
		t, ok := v.tokens[id]
		return t, ok
	}
	if id < 0 || id >= len(v.dense) || !v.has[id] {
		return "", false
	}
	return v.dense[id], true
}

// Size is the number of entries.
func (v *vocab) Size() int { return len(v.ids) }

// Each calls f for every entry.
func (v *vocab) Each(f func(token string, id int)) {
	for t, id := range v.ids {
		f(t, id)
	}
}
