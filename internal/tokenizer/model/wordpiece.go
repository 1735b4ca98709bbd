package model

import (
	"fmt"
	"unicode/utf8"
)

// WordPiece takes the longest token that begins the rest of the word, repeatedly; a word that cannot be cut so
// is one unknown token.
type WordPiece struct {
	vocab
	prefix  string // of tokens that do not begin a word
	maxRune int    // longer words are unknown
	unk     int    // -1: none
	longest int    // bytes of the longest token
}

// NewWordPiece builds a WordPiece model.
func NewWordPiece(ids map[string]int, unk, prefix string, maxRune int) (*WordPiece, error) {
	v, err := newVocab(ids)
	if err != nil {
		return nil, err
	}
	m := &WordPiece{vocab: v, prefix: prefix, maxRune: maxRune, unk: -1}
	if id, ok := ids[unk]; ok {
		m.unk = id
	}
	for t := range ids {
		m.longest = max(m.longest, len(t))
	}
	return m, nil
}

// Append appends the ids of a word.
func (m *WordPiece) Append(dst []int, word string, s *Scratch) []int { return s.known(dst, word, m) }

func (m *WordPiece) appendNew(dst []int, word string, s *Scratch) []int {
	n := len(dst)
	if len(word) > m.maxRune && utf8.RuneCountInString(word) > m.maxRune {
		return m.unknown(dst)
	}
	s.buf = append(append(s.buf[:0], m.prefix...), word...)
	for start := 0; start < len(word); {
		from := len(m.prefix) // where the piece begins in s.buf
		if start > 0 {
			from = start
			copy(s.buf[start:], m.prefix) // over what is done with
		}
		begin := len(m.prefix) + start
		end := min(len(s.buf), from+m.longest)
		for end < len(s.buf) && !utf8.RuneStart(s.buf[end]) {
			end--
		}
		id, ok := 0, false
		for end > begin {
			if id, ok = m.ids[string(s.buf[from:end])]; ok {
				break
			}
			_, size := utf8.DecodeLastRune(s.buf[begin:end])
			end -= size
		}
		if !ok {
			return m.unknown(dst[:n])
		}
		dst = append(dst, id)
		start = end - len(m.prefix)
	}
	return dst
}

func (m *WordPiece) unknown(dst []int) []int {
	if m.unk < 0 {
		return dst
	}
	return append(dst, m.unk)
}

// WordLevel knows whole words.
type WordLevel struct {
	vocab
	unk int // -1: none
}

// NewWordLevel builds a WordLevel model.
func NewWordLevel(ids map[string]int, unk string) (*WordLevel, error) {
	v, err := newVocab(ids)
	if err != nil {
		return nil, fmt.Errorf("WordLevel: %w", err)
	}
	m := &WordLevel{vocab: v, unk: -1}
	if id, ok := ids[unk]; ok {
		m.unk = id
	}
	return m, nil
}

// Append appends the id of a word.
func (m *WordLevel) Append(dst []int, word string, _ *Scratch) []int {
	if id, ok := m.ids[word]; ok {
		return append(dst, id)
	}
	if m.unk >= 0 {
		return append(dst, m.unk)
	}
	return dst
}
