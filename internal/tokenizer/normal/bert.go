package normal

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// Bert does what BERT does to text: clean it, put spaces around Chinese characters, drop accents, lower the case.
type Bert struct {
	Clean, Chinese, Accents, Lower bool
}

// Normalize rewrites the text.
func (n Bert) Normalize(text string, m *Memory) string {
	if n.Clean || n.Chinese {
		text = n.first(text, m)
	}
	if n.Accents {
		text = Drop(chars.BertMark).Normalize(Unicode(norm.NFD).Normalize(text, m), m)
	}
	if n.Lower {
		text = Lowercase{}.Normalize(text, m)
	}
	return text
}

// first cleans the text and sets Chinese characters apart.
func (n Bert) first(text string, m *Memory) string {
	b, t := m.next(), chars.Classes()
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		var class chars.Class
		if r < utf8.RuneSelf {
			class = t.ASCII[r]
		} else {
			r, size = utf8.DecodeRuneInString(text[i:])
			class = t.Of(r)
		}
		switch {
		case n.Clean && class&chars.Control != 0:
			m.Cut = m.Cut || len(b) == 0
		case n.Clean && class&chars.Space != 0:
			b = append(b, ' ')
		case n.Chinese && chinese(r):
			b = append(append(append(b, ' '), text[i:i+size]...), ' ')
		default:
			b = append(b, text[i:i+size]...)
		}
		i += size
	}
	return m.done(b)
}

// chinese tells what BERT takes for a Chinese character.
func chinese(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF:
		return true
	case r < 0x20000:
		return false
	}
	return r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}
