package model

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// BPEConfig is what a file says of a BPE model.
type BPEConfig struct {
	Vocab        map[string]int
	Merges       [][2]string
	Unk          string
	HasUnk       bool
	Prefix       string // of units that do not begin the word
	Suffix       string // of the unit that ends it
	FuseUnk      bool
	ByteFallback bool
	IgnoreMerges bool
	ByteLevel    bool // words come as plain bytes, tokens are written in the byte-level alphabet
	SpaceMark    string
	// Order ranks tokens instead of Merges: any two neighbors that make one of them merge, the lowest rank first.
	Order         map[string]uint32
	NoPreTokenize bool // words are whole texts: cut them where no merge can reach across
}

// NewBPE builds a BPE model.
func NewBPE(c BPEConfig) (*BPE, error) {
	v, err := newVocab(c.Vocab)
	if err != nil {
		return nil, err
	}
	m := &BPE{vocab: v, raw: c.ByteLevel, unk: -1, fuseUnk: c.FuseUnk}
	if c.HasUnk {
		id, ok := c.Vocab[c.Unk]
		if ok {
			m.unk = id
		}
	}
	if m.merges, err = buildMerges(c); err != nil {
		return nil, err
	}
	m.buildUnits(c)
	if c.ByteFallback {
		m.byteIDs = fallback(c.Vocab)
	}
	if c.IgnoreMerges {
		m.words = make(map[string]uint32, len(c.Vocab))
		for t, id := range c.Vocab {
			if !c.ByteLevel {
				m.words[t] = uint32(id)
			} else if raw, ok := FromByteLevel(nil, t); ok {
				m.words[string(raw)] = uint32(id)
			}
		}
	}
	if c.NoPreTokenize && !c.IgnoreMerges && m.plain {
		m.cut = newCutter(c, m.first)
	}
	return m, nil
}

func buildMerges(c BPEConfig) (pairTable, error) {
	if c.Order != nil {
		return buildOrder(c), nil
	}
	t := newPairTable(len(c.Merges))
	var buf []byte
	for rank, p := range c.Merges {
		a, okA := c.Vocab[p[0]]
		b, okB := c.Vocab[p[1]]
		if !okA || !okB || len(p[1]) < len(c.Prefix) {
			return t, fmt.Errorf("merge %d joins %q and %q, of which one is not in the vocabulary", rank+1, p[0], p[1])
		}
		buf = append(append(buf[:0], p[0]...), p[1][len(c.Prefix):]...)
		id, ok := c.Vocab[string(buf)]
		if !ok {
			return t, fmt.Errorf("merge %d makes %q, which is not in the vocabulary", rank+1, buf)
		}
		t.set(uint32(a), uint32(b), uint32(rank), uint32(id))
	}
	return t, nil
}

// buildOrder finds all pairs of tokens that make a ranked token.
func buildOrder(c BPEConfig) pairTable {
	type pair struct{ a, b, rank, id uint32 }
	var pairs []pair
	for t, rank := range c.Order {
		id := uint32(c.Vocab[t])
		for i := range t {
			if i == 0 {
				continue
			}
			a, okA := c.Vocab[t[:i]]
			b, okB := c.Vocab[t[i:]]
			if okA && okB {
				pairs = append(pairs, pair{uint32(a), uint32(b), rank, id})
			}
		}
	}
	t := newPairTable(len(pairs))
	for _, p := range pairs {
		t.set(p.a, p.b, p.rank, p.id)
	}
	return t
}

// products calls f for every token that merges make; false if some merge joins what is not text.
func (c *BPEConfig) products(f func(string)) bool {
	for t := range c.Order {
		f(t)
	}
	for _, p := range c.Merges {
		if p[0] == c.Unk && c.HasUnk || strings.HasPrefix(p[0], "<0x") || strings.HasPrefix(p[1], "<0x") {
			return false
		}
		f(p[0] + p[1])
	}
	return true
}

// buildUnits fills the tables of single units for each place in a word.
func (m *BPE) buildUnits(c BPEConfig) {
	build := func(prefix, suffix string) *units {
		u := newUnits()
		for t, id := range c.Vocab {
			body, ok := strings.CutPrefix(t, prefix)
			if !ok {
				continue
			}
			if body, ok = strings.CutSuffix(body, suffix); !ok || body == "" {
				continue
			}
			r, size := utf8.DecodeRuneInString(body)
			if size != len(body) {
				continue
			}
			if !c.ByteLevel {
				u.set(r, uint32(id))
			} else if raw, ok := FromByteLevel(nil, body); ok && len(raw) == 1 {
				u.low[raw[0]] = uint32(id)
			}
		}
		return u
	}
	m.first = build("", "")
	m.middle, m.last, m.only = m.first, m.first, m.first
	m.plain = c.Prefix == "" && c.Suffix == ""
	if c.Prefix != "" {
		m.middle = build(c.Prefix, "")
		m.last = m.middle
	}
	if c.Suffix != "" {
		m.last = build(c.Prefix, c.Suffix)
		m.only = build("", c.Suffix)
	}
}

// fallback finds the tokens of single bytes.
func fallback(vocab map[string]int) *[256]uint32 {
	var ids [256]uint32
	for b := range ids {
		ids[b] = none
		if id, ok := vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
			ids[b] = uint32(id)
		}
	}
	return &ids
}

func newCutter(c BPEConfig, single *units) *cutter {
	mark, _ := utf8.DecodeRuneInString(c.SpaceMark)
	if single.get(mark) == none {
		return nil
	}
	k := &cutter{mark: c.SpaceMark, glued: map[rune]bool{}, single: single}
	text := c.products(func(whole string) {
		for at := 1; at < len(whole); {
			i := strings.Index(whole[at:], c.SpaceMark)
			if i < 0 {
				break
			}
			at += i
			r, _ := utf8.DecodeLastRuneInString(whole[:at])
			k.glued[r] = true
			at += len(c.SpaceMark)
		}
	})
	if !text {
		return nil // nothing is known of the neighbors of what is not text
	}
	return k
}
