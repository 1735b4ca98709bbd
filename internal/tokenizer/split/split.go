// Package split cuts text into the words that a model sees: the pre-tokenizers of Hugging Face tokenizers. A stage
// takes the spans of a text and cuts each further; some stages also rewrite the text. The patterns of the common
// models have matchers written by hand, all others are run by the small engine of package rx.
package split

import (
	"slices"
	"unsafe"

	"github.com/redline-bench/redline/internal/tokenizer/rx"
	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// Span is a part of a text.
type Span struct{ Start, End int }

// Work is a text in progress through the stages, and the memory for it.
type Work struct {
	Text  string
	Spans []Span
	// AtStart tells that the text is the beginning of the input.
	AtStart bool

	spare []Span
	finds []found
	buf   [2][]byte
	turn  int
}

// found is a part of a span, and whether the pattern matched it.
type found struct {
	Span
	match bool
}

// Reset begins with a new text.
func (w *Work) Reset(text string, atStart bool) {
	w.Text, w.AtStart = text, atStart
	w.Spans = append(w.Spans[:0], Span{0, len(text)})
}

// Stage is one step of pre-tokenization.
type Stage interface {
	Apply(w *Work)
}

// begin hands out the spans to cut and an empty list for the new ones.
func (w *Work) begin() (old, fresh []Span) {
	return w.Spans, w.spare[:0]
}

// end makes the new spans the current ones.
func (w *Work) end(fresh []Span) {
	w.spare, w.Spans = w.Spans, fresh
}

// rewriteSpans writes the text of each span anew. The current text lies in the other half of the memory.
func (w *Work) rewriteSpans(write func(buf []byte, sp Span) []byte) {
	old, fresh := w.begin()
	w.turn ^= 1
	buf := w.buf[w.turn][:0]
	for _, sp := range old {
		from := len(buf)
		buf = write(buf, sp)
		fresh = append(fresh, Span{from, len(buf)})
	}
	w.buf[w.turn] = buf
	w.Text = unsafe.String(unsafe.SliceData(buf), len(buf))
	w.end(fresh)
}

// Sequence runs stages one after the other.
type Sequence []Stage

// Apply runs the stages.
func (s Sequence) Apply(w *Work) {
	for _, stage := range s {
		stage.Apply(w)
	}
}

// Behavior says what becomes of the matches of a pattern.
type Behavior uint8

// The behaviors.
const (
	Isolated Behavior = iota
	Removed
	MergedWithPrevious
	MergedWithNext
	Contiguous
)

// Matcher finds the next match at or after a place; start is negative if there is none. An empty match is allowed.
type Matcher interface {
	Find(text string, from int) (start, end int)
}

// Split cuts by a pattern.
type Split struct {
	Matcher  Matcher
	Behavior Behavior
	Invert   bool
}

// Apply cuts the spans.
func (s *Split) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		text := w.Text[sp.Start:sp.End]
		w.finds = w.finds[:0]
		at := 0
		for next := 0; next <= len(text); {
			a, b := s.Matcher.Find(text, next)
			if a < 0 {
				break
			}
			if a > at {
				w.finds = append(w.finds, found{Span{at, a}, s.Invert})
			}
			w.finds = append(w.finds, found{Span{a, b}, !s.Invert})
			at, next = b, b
			if a == b {
				next = b + step(text, b)
			}
		}
		if at < len(text) {
			w.finds = append(w.finds, found{Span{at, len(text)}, s.Invert})
		}
		fresh = behave(fresh, w.finds, s.Behavior, sp.Start)
	}
	w.end(fresh)
}

// Exceeded reports whether the pattern took too many steps in some text.
func (s *Split) Exceeded() bool { return rx.Exceeded(s.Matcher) }

// Exceeded reports whether a pattern of some stage took too many steps.
func (s Sequence) Exceeded() bool {
	return slices.ContainsFunc(s, func(stage Stage) bool { return rx.Exceeded(stage) })
}

// step is how far to go past an empty match.
func step(text string, at int) int {
	n := 1
	for at+n < len(text) && text[at+n]&0xC0 == 0x80 {
		n++
	}
	return n
}

// behave turns what was found into spans, moved by the offset of their text.
func behave(dst []Span, finds []found, b Behavior, offset int) []Span {
	first := len(dst)
	prev := false
	for i, f := range finds {
		if f.Start == f.End && b == Isolated {
			continue
		}
		sp := Span{f.Start + offset, f.End + offset}
		switch b {
		case Isolated:
		case Removed:
			if f.match {
				continue
			}
		case Contiguous:
			if f.match == prev && len(dst) > first {
				dst[len(dst)-1].End = sp.End
				continue
			}
		case MergedWithPrevious:
			if f.match && !prev && len(dst) > first {
				dst[len(dst)-1].End = sp.End
				prev = f.match
				continue
			}
		case MergedWithNext:
			// A match begins the part behind it, unless that is a match too.
			if i > 0 && finds[i-1].match && !f.match {
				dst[len(dst)-1].End = sp.End
				continue
			}
		}
		prev = f.match
		dst = append(dst, sp)
	}
	return dropEmpty(dst, first)
}

func dropEmpty(dst []Span, from int) []Span {
	n := from
	for _, sp := range dst[from:] {
		if sp.End > sp.Start {
			dst[n] = sp
			n++
		}
	}
	return dst[:n]
}

// Words cuts by a matcher that leaves no gaps: the quick way for the common patterns.
type Words struct {
	Next  func(t *unitab.Tables, text string, at int) (end int)
	Table *unitab.Tables
}

// Apply cuts the spans.
func (s *Words) Apply(w *Work) {
	old, fresh := w.begin()
	for _, sp := range old {
		text := w.Text[:sp.End]
		for at := sp.Start; at < sp.End; {
			end := s.Next(s.Table, text, at)
			fresh = append(fresh, Span{at, end})
			at = end
		}
	}
	w.end(fresh)
}
