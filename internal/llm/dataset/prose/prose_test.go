package prose_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/redline-bench/redline/internal/llm/dataset/prose"
)

// greedy is a tokenizer in small: long words are cut, marks stand alone, and a space belongs to the word after it.
type greedy struct{ cut int }

func (g greedy) Count(text string) int {
	n, run := 0, 0
	flush := func() { n, run = n+(run+g.cut-1)/g.cut, 0 }
	for _, c := range text {
		switch {
		case c == ' ':
			flush()
		case unicode.IsLetter(c):
			run++
		default:
			flush()
			n++
		}
	}
	flush()
	return n
}

// bytewise is a tokenizer without merges.
type bytewise struct{}

func (bytewise) Count(text string) int { return len(text) }

func gen(a, b uint64) *rand.Rand { return rand.New(rand.NewPCG(a, b)) }

func TestExactLength(t *testing.T) {
	for _, c := range []prose.Counter{greedy{4}, greedy{7}, greedy{1}, bytewise{}} {
		w := prose.New(c)
		for n := 1; n < 600; n += 1 + n/10 {
			text, exact := w.Text(gen(1, uint64(n)), n, "")
			if got := c.Count(text); !exact || got != n {
				t.Errorf("%T%v: %d tokens asked, %d made (exact %v)", c, c, n, got, exact)
			}
			text, exact = w.Text(gen(2, uint64(n)), n+6, "[mark]")
			if got := c.Count(text); !exact || got != n+6 || !strings.HasPrefix(text, "[mark]") {
				t.Errorf("%T%v: %d tokens asked behind a lead, %d made (exact %v): %.40q", c, c, n+6, got, exact, text)
			}
		}
	}
}

func TestSameSeedSameText(t *testing.T) {
	w := prose.New(greedy{5})
	a, _ := w.Text(gen(1, 1), 200, "")
	b, _ := w.Text(gen(1, 1), 200, "")
	c, _ := w.Text(gen(1, 2), 200, "")
	if a != b || a == c {
		t.Errorf("same seed: %v, another seed: %v", a == b, a == c)
	}
}

func TestWithoutTokenizer(t *testing.T) {
	w := prose.New(nil)
	text, exact := w.Text(gen(1, 1), 50, "")
	if n := len(strings.Fields(text)); n != 50 || exact {
		t.Errorf("%d words, exact %v", n, exact)
	}
}

// With a known number of tokens per word, texts have as many words as make the requested tokens.
func TestTokensPerWord(t *testing.T) {
	w := prose.New(nil)
	w.PerWord = 1.25
	f := func(n int, lead string, words int) {
		t.Helper()
		text, exact := w.Text(gen(1, 1), n, lead)
		if got := len(strings.Fields(text)); got != words || exact || !strings.HasPrefix(text, lead) {
			t.Errorf("%d tokens behind %q: %d words, want %d", n, lead, got, words)
		}
	}
	f(100, "", 80)
	f(1, "", 1)
	f(105, "[mark] it", 84)
	if n := w.Tokens("one two three four"); n != 5 {
		t.Errorf("four words have %d tokens", n)
	}
	if n := len(strings.Fields(string(w.Block(nil, gen(3, 1), 100)))); n != 80 {
		t.Errorf("a block of 100 tokens has %d words", n)
	}
}

func TestBlocks(t *testing.T) {
	c := greedy{5}
	w := prose.New(c)
	long := string(w.Block(nil, gen(3, 1), 64))
	short := string(w.Block(nil, gen(3, 1), 20))
	if !strings.HasPrefix(long, short) {
		t.Error("a short block is no prefix of the long one")
	}
	joined := string(w.Block([]byte(long), gen(3, 2), 30))
	if got := c.Count(joined); got != 94 {
		t.Errorf("64 and 30 tokens make %d", got)
	}
}

func BenchmarkText(b *testing.B) {
	w := prose.New(greedy{5})
	r := gen(1, 1)
	for b.Loop() {
		w.Text(r, 512, "")
	}
}
