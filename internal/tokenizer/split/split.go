// Package split cuts text into the words that a model sees: the pre-tokenizers of Hugging Face tokenizers. A stage
// takes the spans of a text and cuts each further; some stages also rewrite the text. The patterns of the common
// models have matchers written by hand, all others are run by package chars.
package split

import (
	"slices"
	"unsafe"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// Work is a text in progress through the stages, and the memory for it.
type Work struct {
	Text  string
	Spans []chars.Span
	// AtStart tells that the text is the beginning of the input.
	AtStart bool

	spare   []chars.Span
	matches []chars.Span
	buf     [2][]byte
	turn    int
}

// Reset begins with a new text.
func (w *Work) Reset(text string, atStart bool) {
	w.Text, w.AtStart = text, atStart
	w.Spans = append(w.Spans[:0], chars.Span{Start: 0, End: len(text)})
}

// Stage is one step of pre-tokenization.
type Stage interface {
	Apply(w *Work)
}

// Sequence runs stages one after the other.
type Sequence []Stage

// Apply runs the stages.
func (s Sequence) Apply(w *Work) {
	for _, stage := range s {
		stage.Apply(w)
	}
}

// each replaces each span by those that cut appends. A span is the end of the text that cut is given.
func (w *Work) each(cut func(fresh []chars.Span, text string, at int) []chars.Span) {
	old, fresh := w.Spans, w.spare[:0]
	for _, s := range old {
		fresh = cut(fresh, w.Text[:s.End], s.Start)
	}
	w.spare, w.Spans = old, fresh
}

// rewrite writes the text of each span anew. The current text lies in the other half of the memory.
func (w *Work) rewrite(write func(buf []byte, part string, at int) []byte) {
	w.turn ^= 1
	buf := w.buf[w.turn][:0]
	for i, s := range w.Spans {
		from := len(buf)
		buf = write(buf, w.Text[s.Start:s.End], s.Start)
		w.Spans[i] = chars.Span{Start: from, End: len(buf)}
	}
	w.buf[w.turn] = buf
	w.Text = unsafe.String(unsafe.SliceData(buf), len(buf))
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

// Split cuts by a pattern.
type Split struct {
	Matcher  chars.Matcher
	Behavior Behavior
	Invert   bool
}

// Apply cuts the spans.
func (s *Split) Apply(w *Work) {
	w.each(func(fresh []chars.Span, text string, at int) []chars.Span {
		part := text[at:]
		w.matches = s.Matcher.FindAll(w.matches[:0], part)
		b := pieces{behavior: s.Behavior, list: fresh, first: len(fresh), offset: at}
		end := 0
		for _, m := range w.matches {
			if m.Start > end {
				b.add(end, m.Start, s.Invert)
			}
			b.add(m.Start, m.End, !s.Invert)
			end = m.End
		}
		if end < len(part) {
			b.add(end, len(part), s.Invert)
		}
		rest := slices.DeleteFunc(b.list[b.first:], func(s chars.Span) bool { return s.Start == s.End })
		return b.list[:b.first+len(rest)]
	})
}

// pieces collects the parts of a span.
type pieces struct {
	behavior Behavior
	list     []chars.Span
	first    int // the first of this span
	offset   int // of the span in the text
	matched  bool
}

// add adds a part, which is a match of the pattern or not.
func (p *pieces) add(start, end int, match bool) {
	joins := false
	switch p.behavior {
	case Isolated:
	case Removed:
		if match {
			return
		}
	case Contiguous:
		joins = match == p.matched
	case MergedWithPrevious:
		joins = match && !p.matched
	case MergedWithNext:
		joins = !match && p.matched
	}
	p.matched = match
	if joins && len(p.list) > p.first {
		p.list[len(p.list)-1].End = end + p.offset
		return
	}
	p.list = append(p.list, chars.Span{Start: start + p.offset, End: end + p.offset})
}

// Words cuts by a matcher that leaves no gaps and tells where the word ends that begins at a place: the quick way for
// the common patterns.
type Words func(t *chars.Table, text string, at int) (end int)

// Apply cuts the spans.
func (next Words) Apply(w *Work) {
	t := chars.Classes()
	w.each(func(fresh []chars.Span, text string, at int) []chars.Span {
		for at < len(text) {
			end := next(t, text, at)
			fresh = append(fresh, chars.Span{Start: at, End: end})
			at = end
		}
		return fresh
	})
}
