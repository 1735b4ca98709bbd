package model

import (
	"strings"
	"unicode/utf8"
)

// BPE cuts a word into units, characters or bytes, and merges the neighbors that rank best until none can be merged.
type BPE struct {
	vocab
	merges pairTable
	// A unit is looked up by where it stands in the word: prefixes and suffixes differ by it.
	first, middle, last, only *units
	words                     map[string]uint32 // ignore_merges: words that are tokens as they are
	raw                       bool              // units are bytes
	plain                     bool              // a unit is the same token wherever it stands
	byteIDs                   *[256]uint32      // byte fallback
	unk                       int               // -1: none
	fuseUnk                   bool
	cut                       *cutter
}

// none marks a unit that is not in the vocabulary, and a pair that does not merge.
const (
	none     = ^uint32(0)
	noneRank = ^uint64(0)
)

// units maps the units of a word to ids.
type units struct {
	low  [256]uint32 // bytes, or characters below 256
	high map[rune]uint32
}

func newUnits() *units {
	u := &units{high: map[rune]uint32{}}
	for i := range u.low {
		u.low[i] = none
	}
	return u
}

func (u *units) get(r rune) uint32 {
	if r < 256 {
		return u.low[r]
	}
	if id, ok := u.high[r]; ok {
		return id
	}
	return none
}

func (u *units) set(r rune, id uint32) {
	if r < 256 {
		u.low[r] = id
		return
	}
	u.high[r] = id
}

// Append appends the ids of a word.
func (m *BPE) Append(dst []int, word string, s *Scratch) []int {
	if m.cut != nil {
		for word != "" {
			n := m.cut.next(word)
			dst = s.known(dst, word[:n], m)
			word = word[n:]
		}
		return dst
	}
	return s.known(dst, word, m)
}

func (m *BPE) appendNew(dst []int, word string, s *Scratch) []int {
	if m.words != nil {
		if id, ok := m.words[word]; ok {
			return append(dst, int(id))
		}
	}
	s.syms = m.symbols(s.syms[:0], word)
	switch n := len(s.syms); {
	case n <= 1:
	case n <= shortWord:
		m.mergeShort(s)
	default:
		m.mergeLong(s)
	}
	for _, id := range s.syms {
		dst = append(dst, int(id))
	}
	return dst
}

// symbols are the ids of the units of a word.
func (m *BPE) symbols(syms []uint32, word string) []uint32 {
	if m.raw && m.plain {
		for i := range len(word) {
			if id := m.first.low[word[i]]; id != none {
				syms = append(syms, id)
			} else {
				return m.mixed(syms[:0], word)
			}
		}
		return syms
	}
	return m.mixed(syms, word)
}

// mixed is symbols with unknown units, prefixes and suffixes.
func (m *BPE) mixed(syms []uint32, word string) []uint32 {
	unk := none // an unknown that waits for more to fuse with
	for i := 0; i < len(word); {
		r, size := rune(word[i]), 1
		if !m.raw {
			r, size = utf8.DecodeRuneInString(word[i:])
		}
		table := m.middle
		switch end := i+size == len(word); {
		case i == 0 && end:
			table = m.only
		case i == 0:
			table = m.first
		case end:
			table = m.last
		}
		if id := table.get(r); id != none {
			if unk != none {
				syms, unk = append(syms, unk), none
			}
			syms = append(syms, id)
		} else if more, ok := m.bytes(syms, word[i:i+size]); ok {
			syms = more
		} else if m.unk >= 0 {
			if unk != none && !m.fuseUnk {
				syms = append(syms, unk)
			}
			unk = uint32(m.unk)
		}
		i += size
	}
	if unk != none {
		syms = append(syms, unk)
	}
	return syms
}

// bytes appends the tokens of the bytes of a character, if there are such.
func (m *BPE) bytes(syms []uint32, char string) ([]uint32, bool) {
	if m.byteIDs == nil {
		return syms, false
	}
	n := len(syms)
	for i := range len(char) {
		id := m.byteIDs[char[i]]
		if id == none {
			return syms[:n], false
		}
		syms = append(syms, id)
	}
	return syms, true
}

// cutter finds positions in a text without words that no merge crosses, so that each part can be merged and cached separately. It cuts
// before the mark that stands for a space.
type cutter struct {
	mark   string
	glued  map[rune]bool // characters that some token has before the mark
	single *units        // characters that are tokens: others may fuse
}

// next is the length of the first part of a text that is not empty.
func (c *cutter) next(text string) int {
	for at := 1; at < len(text); {
		i := strings.Index(text[at:], c.mark)
		if i < 0 {
			return len(text)
		}
		at += i
		r, _ := utf8.DecodeLastRuneInString(text[:at])
		if !c.glued[r] && c.single.get(r) != none {
			return at
		}
		at += len(c.mark)
	}
	return len(text)
}
