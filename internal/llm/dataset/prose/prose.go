// Package prose makes text of a given length in tokens.
//
// The text is a random walk over the word pairs of a small corpus, so that it reads and compresses like English and does not
// repeat for long. Words are chosen by the number of tokens that each adds. The text is then encoded again and corrected until
// the tokenizer counts exactly the requested number. Without a tokenizer a word counts as a fixed number of tokens, which is approximate.
//
// A Writer is not safe for concurrent use. The same seed gives the same text.
package prose

import (
	_ "embed" // the corpus
	"math"
	"math/rand/v2"
	"strings"
)

// corpus was written for this program. Its only purpose is to be ordinary.
//
//go:embed corpus.txt
var corpus string

// Counter counts the tokens of a text, special tokens left out.
type Counter interface{ Count(text string) int }

// Writer makes texts for one tokenizer.
type Writer struct {
	count Counter
	// PerWord is the number of tokens of a word where there is no tokenizer; 0 is 1.
	PerWord float64

	next   [][]int32 // by word: the words that follow it in the corpus
	words  []string
	cost   []int    // by word: the tokens that " word" adds
	starts []int32  // words that begin a text with one token, and add one anywhere
	ones   []int32  // words that add one token
	glue   []string // texts that add one token without a space, if no word does
}

// New makes a writer. Without a counter it counts words.
func New(count Counter) *Writer {
	w := &Writer{count: count}
	w.read(corpus)
	w.cost = make([]int, len(w.words))
	for i, word := range w.words {
		w.cost[i] = w.adds(" " + word)
		if w.cost[i] == 1 {
			w.ones = append(w.ones, int32(i))
			if w.size(word) == 1 && !strings.ContainsAny(word, ".,") {
				w.starts = append(w.starts, int32(i))
			}
		}
	}
	if len(w.ones) == 0 {
		for _, piece := range []string{"a", "e", "o", "s", "t", "1", "7", "的", "一"} {
			if w.adds(piece) == 1 {
				w.glue = append(w.glue, piece)
			}
		}
	}
	return w
}

// Exact reports whether lengths are those of a tokenizer.
func (w *Writer) Exact() bool { return w.count != nil }

// read builds the table of followers.
func (w *Writer) read(text string) {
	index := map[string]int32{}
	prev := int32(-1)
	for word := range strings.FieldsSeq(text) {
		i, ok := index[word]
		if !ok {
			i = int32(len(w.words))
			index[word] = i
			w.words = append(w.words, word)
			w.next = append(w.next, nil)
		}
		if prev >= 0 {
			w.next[prev] = append(w.next[prev], i)
		}
		prev = i
	}
	w.next[prev] = append(w.next[prev], 0)
}

// Tokens is the length of a text by the writer's tokenizer, or by its number of words.
func (w *Writer) Tokens(text string) int {
	n := w.size(text)
	if w.Exact() {
		return n
	}
	return int(math.Round(float64(n) * w.perWord()))
}

// size is the length of a text in the units that a draft is made of: tokens, or words if there is no tokenizer.
func (w *Writer) size(text string) int {
	if w.count == nil {
		return len(strings.Fields(text))
	}
	return w.count.Count(text)
}

// units are how many units make n tokens.
func (w *Writer) units(n int) int {
	if w.Exact() {
		return n
	}
	return max(1, int(math.Round(float64(n)/w.perWord())))
}

func (w *Writer) perWord() float64 {
	if w.PerWord > 0 {
		return w.PerWord
	}
	return 1
}

// adds is how many units a text adds after a common word.
func (w *Writer) adds(piece string) int { return w.size("so"+piece) - w.size("so") }

// Text makes a text of n tokens that begins with lead, whose tokens count. It reports whether the length is exact.
func (w *Writer) Text(r *rand.Rand, n int, lead string) (string, bool) {
	if n <= 0 {
		return lead, lead == ""
	}
	t := draft{w: w, r: r, word: -1}
	t.b = append(t.b, lead...)
	if lead != "" {
		t.used = w.size(lead)
	}
	t.lead = len(t.b)
	t.fill(w.units(n))
	if w.count == nil {
		return string(t.b), false
	}
	return t.mend(n)
}

// Block makes a text of the first n tokens of an endless text that the generator determines: a shorter block is a prefix of a
// longer one. Blocks joined with a space have the sum of their lengths.
func (w *Writer) Block(b []byte, r *rand.Rand, n int) []byte {
	n = w.units(n)
	if len(w.starts) == 0 || len(w.ones) == 0 {
		for range n {
			b = append(b, w.filler(r)...)
		}
		return b
	}
	for i := range n {
		from := w.ones
		if i == 0 {
			from = w.starts
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, w.words[from[r.IntN(len(from))]]...)
	}
	return b
}

// filler is a text that adds one token.
func (w *Writer) filler(r *rand.Rand) string {
	switch {
	case len(w.ones) > 0:
		return " " + w.words[w.ones[r.IntN(len(w.ones))]]
	case len(w.glue) > 0:
		return w.glue[r.IntN(len(w.glue))]
	}
	return " " + w.words[r.IntN(len(w.words))]
}

// draft is a text under construction.
type draft struct {
	w    *Writer
	r    *rand.Rand
	b    []byte
	ends []end // after each piece
	lead int
	used int
	word int32 // the last word; -1 none
}

type end struct{ at, cost int }

func (t *draft) add(piece string, cost int) {
	t.b = append(t.b, piece...)
	t.ends = append(t.ends, end{len(t.b), cost})
	t.used += cost
}

// fill adds words until n units are used by the words' own costs.
func (t *draft) fill(n int) {
	w := t.w
	if len(t.b) == 0 && len(w.starts) > 0 {
		t.word = w.starts[t.r.IntN(len(w.starts))]
		t.add(w.words[t.word], 1)
	}
	for t.used < n {
		i := t.follow()
		if w.cost[i] < 1 || t.used+w.cost[i] > n {
			t.add(w.filler(t.r), 1)
			continue
		}
		t.word = i
		if len(t.b) > 0 {
			t.b = append(t.b, ' ')
		}
		t.add(w.words[i], w.cost[i])
	}
}

// follow picks the next word. One in eight is any word, because the corpus is small.
func (t *draft) follow() int32 {
	if t.word < 0 || t.r.IntN(8) == 0 {
		return int32(t.r.IntN(len(t.w.words)))
	}
	next := t.w.next[t.word]
	return next[t.r.IntN(len(next))]
}

// mend corrects the length until the tokenizer counts n tokens.
func (t *draft) mend(n int) (string, bool) {
	for range 32 {
		text := string(t.b)
		diff := n - t.w.count.Count(text)
		switch {
		case diff == 0:
			return text, true
		case diff > 0:
			for range diff {
				t.add(t.w.filler(t.r), 1)
			}
		default:
			if !t.drop(-diff) {
				return text, false
			}
		}
	}
	return string(t.b), false
}

// drop removes at least n tokens from the end.
func (t *draft) drop(n int) bool {
	for n > 0 {
		if len(t.ends) == 0 {
			return false
		}
		last := t.ends[len(t.ends)-1]
		t.ends = t.ends[:len(t.ends)-1]
		n -= max(last.cost, 1)
		at := t.lead
		if len(t.ends) > 0 {
			at = t.ends[len(t.ends)-1].at
		}
		t.b = t.b[:at]
	}
	t.word = -1
	return true
}

// Fit shortens or extends the end of a text, at its spaces, until count returns n. It reports whether this succeeded.
func (w *Writer) Fit(r *rand.Rand, text string, n int, count func(text string) int) (string, bool) {
	b := []byte(text)
	for range 64 {
		diff := n - count(string(b))
		switch {
		case diff == 0:
			return string(b), w.count != nil
		case diff > 0:
			for range diff {
				b = append(b, w.filler(r)...)
			}
		default:
			for range (-diff + 1) / 2 { // words may have more than one token: remove half of the excess
				i := strings.LastIndexByte(string(b[:max(len(b)-1, 0)]), ' ')
				if i < 0 {
					return string(b), false
				}
				b = b[:i]
			}
		}
	}
	return string(b), false
}
