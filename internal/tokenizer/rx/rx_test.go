package rx

import (
	"strings"
	"testing"
)

// The vectors of package tokenizer compare the matches of many patterns with the real engine; here are the edges.
func TestFind(t *testing.T) {
	f := func(pattern, text string, want ...string) {
		t.Helper()
		re, err := Compile(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			return
		}
		var got []string
		for at := 0; at <= len(text); {
			from, to := re.Find(text, at)
			if from < 0 {
				break
			}
			got = append(got, text[from:to])
			if at = to; from == to {
				at++
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s in %q: %q, not %q", pattern, text, got, want)
		}
	}
	f(`a{2}|b{1,2}|c{,2}d|e{2,}`, "aaa bbb ccd eee", "aa", "bb", "b", "ccd", "eee")
	f(`x{`, "x{", "x{")
	f(`\s+(?!\S)|\S+`, "a  b ", "a", " ", "b", " ")
	f(`(?<=a)b|(?<!a)c`, "ab cc ac", "b", "c", "c")
	f(`a.*?b`, "aXbYb", "aXb")
	f(`a++b|a`, "aab", "aab")
	f(`(?i:straße)`, "STRAßE", "STRAßE")
	f(`[\x41\u0042\x{43}]`, "ABCD", "A", "B", "C")
	f(`[a-c&&[^b]]`, "abc", "a", "c")
	f(`\p{Han}+|\p{^L}|\P{N}`, "漢字1", "漢字", "1")
	f(`(?x) a b # comment`, "ab", "ab")
	f(`[]a]`, "]a", "]", "a")
	f(`[[:]]`, "a:", ":") // no name of a class
	f(`\bfoo\b`, "foo food", "foo")
}

func TestCompileErrors(t *testing.T) {
	for _, p := range []string{"(", ")", "[", "[b-a]", "*a", `\`, `(a)\1`, `\p{Nope}`, "(?<=a+)b", "(a*)*", "[[:]", "[[::]]", "a{2000}", `\x{110000}`, strings.Repeat("(", 200)} {
		if _, err := Compile(p); err == nil {
			t.Errorf("%q compiled", p)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, p := range []string{`\p{L}+|\s+(?!\S)`, `[^\r\n]?(?i:'s)`, `(?<=a)b{1,3}?`, `[[:punct:]&&[^_]]`, `(?>a|b)*c`} {
		f.Add(p, "Hello, it's 12 aab\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 40 || len(text) > 12 { // a backtracking engine can take long, as the real one does
			return
		}
		re, err := Compile(pattern)
		if err != nil {
			return
		}
		if from, to := re.Find(text, 0); from > to || to > len(text) {
			t.Errorf("%q in %q: %d to %d", pattern, text, from, to)
		}
	})
}
