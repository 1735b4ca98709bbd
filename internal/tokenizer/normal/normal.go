// Package normal rewrites text before it is cut into words: the normalizers of Hugging Face tokenizers. A normalizer
// that has nothing to change returns the text as it is.
package normal

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/rx"
	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// Memory is what normalizers write into: the text they return is valid until two more are written.
type Memory struct {
	buf  [2][]byte
	turn int
	seg  unitab.Segment
	// Cut tells that the text lost its beginning: it does not begin where the input does.
	Cut bool
	// Limit is how many bytes a normalized text may have; 0 means no limit. A text that would be longer is returned
	// unfinished, and Exceeded is set.
	Limit    int
	Exceeded bool
}

// full reports whether n bytes are more than the limit, and remembers it.
func (m *Memory) full(n int) bool {
	if m.Limit > 0 && n > m.Limit {
		m.Exceeded = true
	}
	return m.Exceeded
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
		if text = n.Normalize(text, m); m.full(len(text)) {
			break
		}
	}
	return text
}

// Unicode is one of the four normalization forms.
type Unicode struct {
	Table *unitab.Tables
	Form  unitab.Form
}

// Normalize brings the text into the form.
func (n Unicode) Normalize(text string, m *Memory) string {
	if n.Table.IsNormal(text, n.Form) {
		return text
	}
	return m.done(n.Table.Normalize(m.next(), text, n.Form, &m.seg))
}

// Lowercase writes all in lower case, character by character.
type Lowercase struct{ Table *unitab.Tables }

// Normalize lowers the text.
func (n Lowercase) Normalize(text string, m *Memory) string {
	b := m.next()
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' {
				c += 32
			}
			b = append(b, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if s, ok := n.Table.Lower(r); ok {
			b = append(b, s...)
		} else {
			b = append(b, text[i:i+size]...)
		}
		i += size
	}
	return m.done(b)
}

// Strip takes white space off the ends.
type Strip struct {
	Table       *unitab.Tables
	Left, Right bool
}

// Normalize strips the text.
func (n Strip) Normalize(text string, m *Memory) string {
	space := func(r rune) bool { return n.Table.Mask(r)&unitab.Space != 0 }
	if n.Left {
		rest := strings.TrimLeftFunc(text, space)
		m.Cut = m.Cut || len(rest) < len(text)
		text = rest
	}
	if n.Right {
		text = strings.TrimRightFunc(text, space)
	}
	return text
}

// Drop leaves out the characters that have one of the bits.
type Drop struct {
	Table *unitab.Tables
	Mask  unitab.Mask
}

// Normalize leaves them out.
func (n Drop) Normalize(text string, m *Memory) string {
	b := m.next()
	for i, r := range text {
		if n.Table.Mask(r)&n.Mask == 0 {
			b = append(b, text[i:i+utf8.RuneLen(r)]...)
		} else if len(b) == 0 {
			m.Cut = true
		}
	}
	return m.done(b)
}

// Finder finds the next match of a pattern; package rx has one.
type Finder interface {
	Find(text string, from int) (start, end int)
}

// Replace puts a text in the place of each match.
type Replace struct {
	Find Finder
	With string
}

// Normalize replaces.
func (n Replace) Normalize(text string, m *Memory) string {
	start, end := n.Find.Find(text, 0)
	if start < 0 {
		return text
	}
	b, at := m.next(), 0
	for start >= 0 && !m.full(len(b)+len(n.With)) {
		b = append(append(b, text[at:start]...), n.With...)
		at = end
		next := end
		if start == end {
			_, size := utf8.DecodeRuneInString(text[end:])
			next += max(size, 1)
		}
		if next > len(text) {
			break
		}
		start, end = n.Find.Find(text, next)
	}
	return m.done(append(b, text[at:]...))
}

// Exceeded reports whether the pattern took too many steps in some text.
func (n Replace) Exceeded() bool { return rx.Exceeded(n.Find) }

// Exceeded reports whether a pattern of some normalizer took too many steps.
func (s Sequence) Exceeded() bool {
	return slices.ContainsFunc(s, func(n Normalizer) bool { return rx.Exceeded(n) })
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
