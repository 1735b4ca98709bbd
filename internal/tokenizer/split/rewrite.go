package split

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
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

// Metaspace writes spaces as a mark of one character, puts one in front, and may cut before each.
type Metaspace struct {
	Mark    string
	Prepend Prepend
	Cut     *Split // nil: it does not cut
}

// Apply rewrites and cuts the spans.
func (s *Metaspace) Apply(w *Work) {
	w.rewrite(func(buf []byte, text string, at int) []byte {
		front := s.Prepend == Always || s.Prepend == First && w.AtStart && at == 0
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
	if s.Cut != nil {
		s.Cut.Apply(w)
	}
}

// ByteLevel puts a space in front if asked, cuts by GPT-2's pattern if asked, and writes bytes as characters.
type ByteLevel struct {
	PrefixSpace bool
	Cut         bool
	// Plain leaves the bytes as they are, for a model that takes them so.
	Plain bool
}

// Apply rewrites and cuts the spans.
func (s *ByteLevel) Apply(w *Work) {
	missing := func(c chars.Span) bool { return w.Text[c.Start] != ' ' }
	if s.PrefixSpace && slices.ContainsFunc(w.Spans, missing) {
		w.rewrite(func(buf []byte, text string, _ int) []byte {
			if text[0] != ' ' {
				buf = append(buf, ' ')
			}
			return append(buf, text...)
		})
	}
	if s.Cut {
		Words(gpt2).Apply(w)
	}
	if !s.Plain {
		w.rewrite(func(buf []byte, text string, _ int) []byte { return model.ToByteLevel(buf, text) })
	}
}
