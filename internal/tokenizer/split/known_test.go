package split

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// A matcher written by hand cuts as its pattern does.
func FuzzKnown(f *testing.F) {
	for _, s := range []string{
		"Hello, it's HTTPServer 12345\r\n\r\n\tx='ſ';  \n end  ", "naïve e\u0301 日本語テスト、中文。한국어 ŋ\u0300", "!abc #x...\n // a/b\n/\n", "١٢٣½Ⅷ a\u00a0b\u3000\u2028c\x85 \x1f1",
		"don'T WE'LL ǅ \u0301a \u0301\u0302 'd'S", "  1 a  ", "\u200b\ue000 \u00ad", "👍🏽 ©\u200d€5+6",
	} {
		f.Add(s)
	}
	patterns := map[string]*Split{}
	for _, p := range []string{GPT2, CL100K, Qwen, O200K, Tekken, deepseek1, deepseek2, deepseek3} {
		m, err := chars.NewPattern(p, &chars.Guard{})
		if err != nil {
			f.Fatal(err)
		}
		patterns[p] = &Split{Matcher: m}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || text == "" {
			return
		}
		cut := func(s Stage) []chars.Span {
			var w Work
			w.Reset(text, true)
			s.Apply(&w)
			return w.Spans
		}
		for p, s := range patterns {
			if got, want := cut(known(p)), cut(s); !slices.Equal(got, want) {
				t.Errorf("%q, %s: %v, the pattern cuts %v", text, p, got, want)
			}
		}
	})
}
