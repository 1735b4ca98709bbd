package model

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// unkPenalty is how much worse than the worst token an unknown character scores.
const unkPenalty = 10

// Unigram cuts a word so that the sum of the scores of its tokens is largest.
type Unigram struct {
	entries []Scored
	ids     map[string]int
	scores  []float64
	trie    *Trie
	unk     int // -1: none
	unkCost float64
	byteIDs *[256]uint32
	narrow  bool // scores are summed in single precision
}

// Scored is an entry of a Unigram vocabulary; its id is its index.
type Scored struct {
	Token string
	Score float64
	// Skip keeps the entry out of texts: it has an id, and that is all.
	Skip bool
}

// NewUnigram builds a Unigram model; unk is -1 if there is no unknown token.
func NewUnigram(entries []Scored, unk int, byteFallback bool) (*Unigram, error) {
	if unk >= len(entries) {
		return nil, fmt.Errorf("the unknown token has id %d, the vocabulary ends at %d", unk, len(entries)-1)
	}
	m := &Unigram{entries: entries, unk: unk, unkCost: math.Inf(1), scores: make([]float64, len(entries)), ids: make(map[string]int, len(entries))}
	texts := make(map[string]int32, len(entries))
	for id, e := range entries {
		m.ids[e.Token], m.scores[id] = id, e.Score
		if !e.Skip {
			texts[e.Token] = int32(id)
			m.unkCost = min(m.unkCost, e.Score)
		}
	}
	m.unkCost -= unkPenalty
	delete(texts, "")
	m.trie = NewTrie(texts)
	if byteFallback {
		m.byteIDs = fallback(m.ids)
	}
	return m, nil
}

// ID finds a token by its text.
func (m *Unigram) ID(token string) (int, bool) {
	id, ok := m.ids[token]
	return id, ok
}

// Token finds the text of an id.
func (m *Unigram) Token(id int) (string, bool) {
	if id < 0 || id >= len(m.entries) {
		return "", false
	}
	return m.entries[id].Token, true
}

// Size is the number of entries.
func (m *Unigram) Size() int { return len(m.entries) }

// bestNode is the best way to reach a place in the word.
type bestNode struct {
	score float64
	start int32 // -1: not reached
	id    int32
}

// piece is a part of the word and its token.
type piece struct{ start, end, id int32 }

// Append appends the ids of a word.
func (m *Unigram) Append(dst []int, word string, s *Scratch) []int { return s.known(dst, word, m) }

func (m *Unigram) appendNew(dst []int, word string, s *Scratch) []int {
	if !m.viterbi(word, s) {
		return dst
	}
	path := s.path[:0]
	for end := int32(len(word)); end > 0; {
		n := &s.best[end]
		last := len(path) - 1
		if int(n.id) == m.unk && last >= 0 && int(path[last].id) == m.unk {
			path[last].start = n.start // unknown characters fuse
		} else {
			path = append(path, piece{n.start, end, n.id})
		}
		end = n.start
	}
	s.path = path
	for _, p := range slices.Backward(path) {
		if int(p.id) == m.unk {
			dst = m.unknown(dst, word[p.start:p.end])
		} else {
			dst = append(dst, int(p.id))
		}
	}
	return dst
}

// viterbi fills s.best; false if a character is unknown and there is no token for that.
func (m *Unigram) viterbi(word string, s *Scratch) bool {
	s.best = s.best[:0]
	for range len(word) + 1 {
		s.best = append(s.best, bestNode{start: -1})
	}
	best := s.best
	for at := 0; at < len(word); {
		here := best[at].score
		_, size := utf8.DecodeRuneInString(word[at:])
		single := false
		node := int32(0)
		for i := at; i < len(word); i++ {
			if node = m.trie.Next(node, word[i]); node < 0 {
				break
			}
			id := m.trie.Value(node)
			if id < 0 {
				continue
			}
			end := &best[i+1]
			if score := m.sum(m.scores[id], here); end.start < 0 || score > end.score {
				*end = bestNode{score, int32(at), id}
			}
			single = single || i+1-at == size
		}
		if !single {
			end := &best[at+size]
			if score := m.sum(m.unkCost, here); end.start < 0 || score > end.score {
				if m.unk < 0 {
					return false
				}
				*end = bestNode{score, int32(at), int32(m.unk)}
			}
		}
		at += size
	}
	return true
}

// Narrow makes the model add scores in single precision, as SentencePiece does; ties fall differently by it.
func (m *Unigram) Narrow() *Unigram {
	m.narrow = true
	return m
}

func (m *Unigram) sum(a, b float64) float64 {
	if m.narrow {
		return float64(float32(a) + float32(b))
	}
	return a + b
}

// unknown appends what stands for text that is not in the vocabulary.
func (m *Unigram) unknown(dst []int, text string) []int {
	if id, ok := m.ids[text]; ok {
		return append(dst, id)
	}
	if m.byteIDs != nil {
		n := len(dst)
		for i := range len(text) {
			id := m.byteIDs[text[i]]
			if id == none {
				dst = dst[:n]
				break
			}
			dst = append(dst, int(id))
		}
		if len(dst) > n {
			return dst
		}
	}
	return append(dst, m.unk)
}
