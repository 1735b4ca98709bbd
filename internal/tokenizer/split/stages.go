package split

import (
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// Chars matches single characters that have one of the bits of a mask.
type Chars struct {
	Table *unitab.Tables
	Mask  unitab.Mask
}

// Find finds the next such character.
func (c Chars) Find(text string, from int) (start, end int) {
	for i := from; i < len(text); {
		m, size := at(c.Table, text, i)
		if m&c.Mask != 0 {
			return i, i + size
		}
		i += size
	}
	return -1, -1
}

// Literal matches a fixed text, which is not empty.
type Literal string

// Find finds the next place of the text.
func (l Literal) Find(text string, from int) (start, end int) {
	i := strings.Index(text[from:], string(l))
	if i < 0 {
		return -1, -1
	}
	return from + i, from + i + len(l)
}

// Nothing never matches.
type Nothing struct{}

// Find finds nothing.
func (Nothing) Find(string, int) (start, end int) { return -1, -1 }

// Whitespace cuts into words, runs of symbols, and white space, which it drops.
type Whitespace struct{ Table *unitab.Tables }

// Apply cuts the spans.
func (s Whitespace) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		text := w.Text[:sp.End]
		for i := sp.Start; i < sp.End; {
			m, size := at(s.Table, text, i)
			end := i + size
			switch {
			case m&unitab.Letter != 0:
				end = run(s.Table, text, end, unitab.Letter)
			case m&unitab.Space == 0:
				end = runNot(s.Table, text, end, unitab.Letter|unitab.Space)
			default:
				i = end
				continue
			}
			fresh = append(fresh, Span{i, end})
			i = end
		}
	}
	w.end(fresh)
}

// Bert cuts at white space, which it drops, and around each punctuation character.
type Bert struct{ Table *unitab.Tables }

// Apply cuts the spans.
func (s Bert) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		text := w.Text[:sp.End]
		for i := sp.Start; i < sp.End; {
			m, size := at(s.Table, text, i)
			end := i + size
			if m&unitab.Space != 0 {
				i = end
				continue
			}
			if m&unitab.Punct == 0 {
				end = runNot(s.Table, text, end, unitab.Punct|unitab.Space)
			}
			fresh = append(fresh, Span{i, end})
			i = end
		}
	}
	w.end(fresh)
}

// FixedLength cuts after so many characters.
type FixedLength int

// Apply cuts the spans.
func (n FixedLength) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		count, from := 0, sp.Start
		for i := sp.Start; i < sp.End; {
			_, size := utf8.DecodeRuneInString(w.Text[i:])
			i += size
			if count++; count == int(n) || i == sp.End {
				fresh = append(fresh, Span{from, i})
				count, from = 0, i
			}
		}
	}
	w.end(fresh)
}

// Scripts cuts where the script changes. Kana counts as Han, and a space as whatever is around it.
type Scripts struct{ Table *unitab.Tables }

// Apply cuts the spans.
func (s Scripts) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		const unset = -1
		last, from, begun := unset, sp.Start, false
		for i := sp.Start; i < sp.End; {
			r, size := utf8.DecodeRuneInString(w.Text[i:])
			script := int(s.Table.Script(r))
			if script != 0 && last != script {
				if begun {
					fresh = append(fresh, Span{from, i})
				}
				from, begun = i, true // what is before the first script is dropped
			}
			if script != 0 {
				last = script
			}
			i += size
		}
		if begun {
			fresh = append(fresh, Span{from, sp.End})
		}
	}
	w.end(fresh)
}
