package split

import (
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/model"
)

// Prepend says when a Metaspace puts its mark in front.
type Prepend uint8

// The choices.
const (
	Always Prepend = iota
	First
	Never
)

// Metaspace writes spaces as a mark, puts one in front, and cuts before each.
type Metaspace struct {
	Mark    string // one character
	Prepend Prepend
	cut     *Split // nil: it does not cut
}

// NewMetaspace makes one; cut reports whether it cuts before marks.
func NewMetaspace(mark string, p Prepend, cut bool) *Metaspace {
	s := &Metaspace{Mark: mark, Prepend: p}
	if cut {
		s.cut = &Split{Matcher: Literal(mark), Behavior: MergedWithNext}
	}
	return s
}

// Apply rewrites and cuts the spans.
func (s *Metaspace) Apply(w *Work) {
	w.rewriteSpans(func(buf []byte, sp Span) []byte {
		text := w.Text[sp.Start:sp.End]
		front := s.Prepend == Always || s.Prepend == First && w.AtStart && sp.Start == 0
		if front && !strings.HasPrefix(text, " ") && !strings.HasPrefix(text, s.Mark) {
			buf = append(buf, s.Mark...)
		}
		for i := range len(text) {
			if text[i] == ' ' {
				buf = append(buf, s.Mark...)
			} else {
				buf = append(buf, text[i])
			}
		}
		return buf
	})
	if s.cut != nil {
		s.cut.Apply(w)
	}
}

// ByteLevel puts a space in front if asked, cuts by GPT-2's pattern if asked, and writes bytes as characters.
type ByteLevel struct {
	PrefixSpace bool
	Cut         Stage // nil: none
	// Plain leaves the bytes as they are, for a model that takes them so.
	Plain bool
}

// Apply rewrites and cuts the spans.
func (s *ByteLevel) Apply(w *Work) {
	if s.PrefixSpace {
		w.prefix()
	}
	if s.Cut != nil {
		s.Cut.Apply(w)
	}
	if !s.Plain {
		w.rewriteSpans(func(buf []byte, sp Span) []byte { return model.ToByteLevel(buf, w.Text[sp.Start:sp.End]) })
	}
}

// prefix puts a space in front of each span that has none.
func (w *Work) prefix() {
	missing := false
	for _, sp := range w.Spans {
		missing = missing || w.Text[sp.Start] != ' '
	}
	if !missing {
		return
	}
	w.rewriteSpans(func(buf []byte, sp Span) []byte {
		if w.Text[sp.Start] != ' ' {
			buf = append(buf, ' ')
		}
		return append(buf, w.Text[sp.Start:sp.End]...)
	})
}

// CheckMark reports whether a text is one character, as a mark must be.
func CheckMark(mark string) bool { return utf8.RuneCountInString(mark) == 1 }
