package normal

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// Unicode is one of the four normalization forms of Unicode 9, which the package has: newer characters stay as they
// are, and nothing joins across them.
type Unicode norm.Form

// Normalize brings the text into the form.
func (n Unicode) Normalize(text string, m *Memory) string {
	t, changed := chars.Classes(), chars.NFC<<n
	i := t.Until(text, 0, changed)
	if i == len(text) {
		return text
	}
	b, at := m.next(), 0
	for i < len(text) {
		// What is before the first character may join with it.
		start := i
		if before, size := utf8.DecodeLastRuneInString(text[at:i]); size > 0 && t.Of(before)&chars.Unicode9 != 0 {
			start -= size
		}
		b = append(b, text[at:start]...)
		at = t.While(text, i, changed)
		b = m.appendForm(b, text[start:at], norm.Form(n))
		i = t.Until(text, at, changed)
	}
	return m.done(append(b, text[at:]...))
}

// joiner is what norm inserts where more than 30 marks follow each other.
const joiner = "\u034F"

func (m *Memory) appendForm(dst []byte, text string, form norm.Form) []byte {
	at := len(dst)
	for m.iter.InitString(form, text); !m.iter.Done(); {
		dst = append(dst, m.iter.Next()...)
	}
	if len(text) < 30 || strings.Count(text, joiner) == bytes.Count(dst[at:], []byte(joiner)) {
		return dst
	}
	return append(dst[:at], manyMarks(text, form)...)
}

// manyMarks normalizes a text with any number of marks on a character.
func manyMarks(text string, form norm.Form) string {
	decompose, compose := norm.NFD, form == norm.NFC || form == norm.NFKC
	if form == norm.NFKC || form == norm.NFKD {
		decompose = norm.NFKD
	}
	var runes []rune
	for _, r := range text {
		runes = append(runes, []rune(decompose.String(string(r)))...)
	}
	class := func(r rune) uint8 { return decompose.PropertiesString(string(r)).CCC() }
	for i := 0; i < len(runes); i++ {
		from := i
		for i < len(runes) && class(runes[i]) != 0 {
			i++
		}
		slices.SortStableFunc(runes[from:i], func(a, b rune) int { return cmp.Compare(class(a), class(b)) })
	}
	if !compose {
		return string(runes)
	}
	out, starter, last := runes[:0], -1, uint8(0)
	for _, r := range runes {
		c := class(r)
		adjacent := starter == len(out)-1
		if starter >= 0 && (adjacent || last != 0 && last < c) {
			pair := norm.NFC.String(string(out[starter]) + string(r))
			if one, size := utf8.DecodeRuneInString(pair); size == len(pair) {
				out[starter] = one
				continue
			}
		}
		if c == 0 {
			starter = len(out)
		}
		out, last = append(out, r), c
	}
	return string(out)
}
