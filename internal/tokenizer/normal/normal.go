// Package normal rewrites text before it is cut into words: the normalizers of Hugging Face tokenizers. A normalizer
// that has nothing to change returns the text as it is.
package normal

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/model"
)

// Memory is what normalizers write into: the text they return is valid until two more are written.
type Memory struct {
	buf  [2][]byte
	turn int
	// Cut tells that the text lost its beginning: it does not begin where the input does.
	Cut bool
	// Guard is told if a text becomes longer than Room. The text is then unfinished.
	Guard *chars.Guard
	Room  int

	spans []chars.Span
	runes []rune
	iter  norm.Iter
}

func (m *Memory) next() []byte {
	m.turn ^= 1
	return m.buf[m.turn][:0]
}

func (m *Memory) done(b []byte) string {
	m.buf[m.turn] = b
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Normalizer rewrites a text.
type Normalizer interface {
	Normalize(text string, m *Memory) string
}

// Sequence runs normalizers one after the other.
type Sequence []Normalizer

// Normalize runs them.
func (s Sequence) Normalize(text string, m *Memory) string {
	for _, n := range s {
		if text = n.Normalize(text, m); !m.Guard.Fits(len(text), m.Room) {
			break
		}
	}
	return text
}

// Lowercase writes all in lower case, character by character.
type Lowercase struct{}

// Normalize lowers the text.
func (Lowercase) Normalize(text string, m *Memory) string {
	b := m.next()
	for _, r := range text {
		switch {
		case r >= 'A' && r <= 'Z':
			b = append(b, byte(r)+32)
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r == 'İ':
			b = append(b, "i\u0307"...)
		default:
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return m.done(b)
}

// Strip takes white space off the ends.
type Strip struct{ Left, Right bool }

// Normalize strips the text.
func (n Strip) Normalize(text string, m *Memory) string {
	if n.Left {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		m.Cut = m.Cut || len(rest) < len(text)
		text = rest
	}
	if n.Right {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text
}

// Drop leaves out the characters that have one of the properties. None of them is in ASCII.
type Drop chars.Class

// Normalize leaves them out.
func (n Drop) Normalize(text string, m *Memory) string {
	if isASCII(text) {
		return text
	}
	b, t := m.next(), chars.Classes()
	for i := 0; i < len(text); {
		c, size := t.At(text, i)
		if c&chars.Class(n) == 0 {
			b = append(b, text[i:i+size]...)
		} else if len(b) == 0 {
			m.Cut = true
		}
		i += size
	}
	return m.done(b)
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Replace puts a text in the place of each match.
type Replace struct {
	Find chars.Matcher
	With string
}

// Normalize replaces.
func (n Replace) Normalize(text string, m *Memory) string {
	m.spans = n.Find.FindAll(m.spans[:0], text)
	if len(m.spans) == 0 || !m.Guard.Fits(len(text)+len(m.spans)*len(n.With), m.Room) {
		return text
	}
	b, at := m.next(), 0
	for _, s := range m.spans {
		b = append(append(b, text[at:s.Start]...), n.With...)
		at = s.End
	}
	return m.done(append(b, text[at:]...))
}

// Prepend puts a text in front of what is not empty.
type Prepend string

// Normalize prepends.
func (p Prepend) Normalize(text string, m *Memory) string {
	if text == "" {
		return text
	}
	return m.done(append(append(m.next(), p...), text...))
}

// ByteLevel writes bytes as visible characters.
type ByteLevel struct{}

// Normalize rewrites the text.
func (ByteLevel) Normalize(text string, m *Memory) string {
	return m.done(model.ToByteLevel(m.next(), text))
}

// Nmt drops control characters and turns what looks like a space into one, as some translation models want.
type Nmt struct{}

// Normalize rewrites the text.
func (Nmt) Normalize(text string, m *Memory) string {
	b := m.next()
	for _, r := range text {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			m.Cut = m.Cut || len(b) == 0
		case r == 9, r == 0xA, r == 0xC, r == 0xD, r == 0x1680, r >= 0x200B && r <= 0x200F,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			b = append(b, ' ')
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return m.done(b)
}
