package split

import (
	"unicode"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// Runs cuts into runs of characters of a class, and of others. It drops white space.
type Runs struct {
	Class  chars.Class
	Single bool // each character of the class is a word
}

// Apply cuts the spans.
func (s Runs) Apply(w *Work) {
	t := chars.Classes()
	w.each(func(fresh []chars.Span, text string, i int) []chars.Span {
		for i < len(text) {
			c, size := t.At(text, i)
			end := i + size
			switch {
			case c&chars.Space != 0:
				i = end
				continue
			case c&s.Class == 0:
				end = t.Until(text, end, s.Class|chars.Space)
			case !s.Single:
				end = t.While(text, end, s.Class)
			}
			fresh = append(fresh, chars.Span{Start: i, End: end})
			i = end
		}
		return fresh
	})
}

// FixedLength cuts after so many characters.
type FixedLength int

// Apply cuts the spans.
func (n FixedLength) Apply(w *Work) {
	w.each(func(fresh []chars.Span, text string, from int) []chars.Span {
		count := 0
		for i := from; i < len(text); {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			if count++; count == int(n) || i == len(text) {
				fresh = append(fresh, chars.Span{Start: from, End: i})
				count, from = 0, i
			}
		}
		return fresh
	})
}

// Scripts cuts where the script of Unicode 9 changes. Kana counts as Han. A space and a newer character have no script:
// they belong to what is before them, and are dropped at the beginning.
type Scripts struct{}

// Apply cuts the spans.
func (Scripts) Apply(w *Work) {
	t := chars.Classes()
	w.each(func(fresh []chars.Span, text string, at int) []chars.Span {
		var last *unicode.RangeTable
		first := len(fresh)
		for i, r := range text[at:] {
			if r == ' ' || t.Of(r)&chars.Unicode9 == 0 {
				continue
			}
			if s := script(r, last); s != nil && s != last {
				fresh = append(fresh, chars.Span{Start: at + i})
				last = s
			}
		}
		for i := range fresh[first:] {
			fresh[first+i].End = len(text)
			if i > 0 {
				fresh[first+i-1].End = fresh[first+i].Start
			}
		}
		return fresh
	})
}

// script is the table that has a character; nil if there is none. The table of the character before it is the most likely.
func script(r rune, last *unicode.RangeTable) *unicode.RangeTable {
	if unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == 'ー' {
		return unicode.Han
	}
	if last != nil && unicode.Is(last, r) {
		return last
	}
	for _, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return table
		}
	}
	return nil
}
