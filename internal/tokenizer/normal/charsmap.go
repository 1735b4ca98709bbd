package normal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// Charsmap is SentencePiece's precompiled map: a double-array trie from texts to places in a block of texts that end
// with a zero byte.
type Charsmap struct {
	trie  []uint32
	texts []byte
}

// NewCharsmap reads the binary form of a map.
func NewCharsmap(data []byte) (*Charsmap, error) {
	if len(data) < 4 {
		return nil, errors.New("precompiled charsmap: it is too short")
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[4:]
	if uint64(size) > uint64(len(data)) || size%4 != 0 {
		return nil, errors.New("precompiled charsmap: its trie has no end")
	}
	c := &Charsmap{trie: make([]uint32, size/4), texts: data[size:]}
	for i := range c.trie {
		c.trie[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return c, nil
}

// Normalize maps the user-perceived characters of a text, or, where that is not possible, its characters.
func (c *Charsmap) Normalize(text string, m *Memory) string {
	b := m.next()
	m.runes = append(m.runes[:0], []rune(text)...)
	for i, at := 0, 0; i < len(m.runes) && m.Guard.Fits(len(b), m.Room); {
		end := i + 1
		// An ASCII character before another, except for a line end, stands alone.
		if m.runes[i] == '\r' || m.runes[i] >= utf8.RuneSelf || end < len(m.runes) && m.runes[end] >= utf8.RuneSelf {
			end = syntax.NextGraphemeClusterBoundary(m.runes, i)
		}
		size := 0
		for _, r := range m.runes[i:end] {
			size += utf8.RuneLen(r)
		}
		part := text[at : at+size]
		i, at = end, at+size
		if s, mapped := c.find(part, false); mapped > 0 && size < 6 {
			b = append(b, s...)
			continue
		}
		for _, r := range part {
			if s, mapped := c.find(string(r), false); mapped > 0 {
				b = append(b, s...)
			} else {
				b = utf8.AppendRune(b, r)
			}
		}
	}
	return m.done(b)
}

// find is what the shortest or the longest mapped beginning of a text maps to, and its length; 0 if none is mapped.
func (c *Charsmap) find(text string, longest bool) (to []byte, n int) {
	if len(c.trie) == 0 {
		return nil, 0
	}
	at := offset(c.trie[0])
	for i := range len(text) {
		b := uint32(text[i])
		at ^= b
		if b == 0 || uint64(at) >= uint64(len(c.trie)) {
			break
		}
		unit := c.trie[at]
		if unit&(1<<31|0xFF) != b {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 0 { // no text ends here
			continue
		}
		if s, ok := c.text(at); ok {
			to, n = s, i+1
		}
		if !longest {
			break
		}
	}
	return to, n
}

func offset(unit uint32) uint32 {
	return unit >> 10 << (unit & (1 << 9) >> 6)
}

// Prefixes maps the longest beginnings of a text that the map has, as SentencePiece itself does.
type Prefixes struct{ Map *Charsmap }

// Normalize maps the text.
func (p Prefixes) Normalize(text string, m *Memory) string {
	b := m.next()
	for i := 0; i < len(text) && m.Guard.Fits(len(b), m.Room); {
		if s, n := p.Map.find(text[i:], true); n > 0 {
			b = append(b, s...)
			i += n
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		b = append(b, text[i:i+size]...)
		i += size
	}
	return m.done(b)
}

// text is the text that a leaf of the trie points at.
func (c *Charsmap) text(leaf uint32) ([]byte, bool) {
	if uint64(leaf) >= uint64(len(c.trie)) {
		return nil, false
	}
	from := c.trie[leaf] & (1<<31 - 1)
	if uint64(from) > uint64(len(c.texts)) {
		return nil, false
	}
	s := c.texts[from:]
	if end := bytes.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	return s, true
}

// Squeeze takes spaces off the ends and makes one of several.
type Squeeze struct{}

// Normalize squeezes the text.
func (Squeeze) Normalize(text string, m *Memory) string {
	b := m.next()
	for i := range len(text) {
		if text[i] != ' ' || len(b) > 0 && b[len(b)-1] != ' ' {
			b = append(b, text[i])
		}
	}
	return m.done(bytes.TrimRight(b, " "))
}

// TrimEnd takes a text off the end, as often as it is there.
type TrimEnd string

// Normalize trims the text.
func (t TrimEnd) Normalize(text string, _ *Memory) string {
	for t != "" && strings.HasSuffix(text, string(t)) {
		text = text[:len(text)-len(t)]
	}
	return text
}
