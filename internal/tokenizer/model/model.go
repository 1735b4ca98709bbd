// Package model turns words into token ids. It holds the four models of Hugging Face tokenizers: BPE, WordPiece,
// WordLevel and Unigram. A model does not change after it is built; buffers and the cache of words are in a Scratch, and each goroutine
// uses its own Scratch.
package model

import (
	"fmt"
	"sync"
)

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
	tokens func() map[int]string // made when it is first asked for: only decoding does
}

func newVocab(ids map[string]int) (vocab, error) {
	for token, id := range ids {
		if id < 0 || id > 1<<31-1 {
			return vocab{}, fmt.Errorf("token %q has id %d, which is out of range", token, id)
		}
	}
	return vocab{ids, sync.OnceValue(func() map[int]string {
		tokens := make(map[int]string, len(ids))
		for token, id := range ids {
			tokens[id] = token
		}
		return tokens
	})}, nil
}

// ID finds a token by its text.
func (v *vocab) ID(token string) (int, bool) {
	id, ok := v.ids[token]
	return id, ok
}

// Token finds the text of an id.
func (v *vocab) Token(id int) (string, bool) {
	t, ok := v.tokens()[id]
	return t, ok
}

// Size is the number of entries.
func (v *vocab) Size() int { return len(v.ids) }
