package chars

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// Span is a part of a text: the bytes from Start to End.
type Span struct{ Start, End int }

// Matcher finds parts of texts.
type Matcher interface {
	// FindAll appends the matches in a text from left to right. They do not overlap. A match may be empty.
	FindAll(dst []Span, text string) []Span
}

// FindAll finds the characters that have one of the properties.
func (c Class) FindAll(dst []Span, text string) []Span {
	t := Classes()
	for i := 0; i < len(text); {
		found, size := t.At(text, i)
		if found&c != 0 {
			dst = append(dst, Span{i, i + size})
		}
		i += size
	}
	return dst
}

// Literal finds a fixed text; an empty one finds nothing.
type Literal string

// FindAll finds the text.
func (l Literal) FindAll(dst []Span, text string) []Span {
	for at := 0; l != ""; {
		i := strings.Index(text[at:], string(l))
		if i < 0 {
			break
		}
		dst = append(dst, Span{at + i, at + i + len(l)})
		at += i + len(l)
	}
	return dst
}

// Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct {
	re    *regexp2.Regexp
	guard *Guard
}

// A pattern is given up if one match takes longer than perMatch, or all matches in a text longer than perMatch and
// perByte for each byte: at least a hundred times what patterns of real tokenizers take. A pattern such as (a+)+$ takes
// 2 to the power of the length of the text.
const (
	perMatch = 3 * time.Second
	perByte  = 50 * time.Microsecond
	maxStack = 4 << 20 // numbers of 8 bytes
)

// NewPattern compiles a pattern in the dialect of Oniguruma, the engine of the `tokenizers` package.
func NewPattern(source string, g *Guard) (*Pattern, error) {
	translated, err := translate(source)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(translated, regexp2.Multiline|regexp2.ExplicitCapture, regexp2.OptionMaxBacktrackingStackSize(maxStack))
	if err != nil {
		return nil, patternError(source, err)
	}
	re.MatchTimeout = perMatch
	return &Pattern{re, g}, nil
}

// FindAll finds all matches. It finds nothing after the pattern was given up.
func (p *Pattern) FindAll(dst []Span, text string) []Span {
	if p.guard.slow.Load() {
		return dst
	}
	deadline := time.Now().Add(perMatch + perByte*time.Duration(len(text)))
	place := 0 // in bytes; in characters it is index
	index := 0
	forward := func(to int) int {
		for ; index < to; index++ {
			_, size := utf8.DecodeRuneInString(text[place:])
			place += size
		}
		return place
	}
	late := false
	err := p.re.FindRunesMatches([]rune(text), 0, func(m regexp2.MatchView) bool {
		from, n, _ := m.GroupRange(0)
		dst = append(dst, Span{forward(from), forward(from + n)})
		late = time.Now().After(deadline)
		return !late
	})
	if err != nil || late {
		p.guard.slow.Store(true)
	}
	return dst
}
