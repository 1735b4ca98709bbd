package chars

import (
	"strings"
	"testing"
)

// The vectors of package tokenizer compare the matches of many patterns with the real engine; here are the edges.
func TestFind(t *testing.T) {
	f := func(pattern, text string, want ...string) {
		t.Helper()
		re, err := NewPattern(pattern, &Guard{})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			return
		}
		var got []string
		for _, m := range re.FindAll(nil, text) {
			got = append(got, text[m.Start:m.End])
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
	f(`\p{han}|\p{Old_Italic}|\p{lowercase letter}`, "漢𐌀aA", "漢", "𐌀", "a")
	f(`[^a[bc]]|[a[bc]&&[^b]]`, "abcd", "a", "c", "d")
	f(`[^a-c&&[^b]]`, "abcd", "b", "d")
	f(`[\h&&\W]|[\W\d]`, "a1-", "1", "-")
	f(`(?m).\w(?-m).\b`, "\nab c", "\nab")
}

func TestPatternErrors(t *testing.T) {
	f := func(pattern, want string) {
		t.Helper()
		_, err := NewPattern(pattern, &Guard{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", pattern, err, want)
		}
	}
	f("(\n", "missing closing )")
	f(")", "unexpected )")
	f("[a", "a class has no end")
	f("[b-a]", "range")
	f("*a", "repetition")
	f(`\`, "a backslash ends the pattern")
	f(`(a)\1`, "undefined group")
	f(`\K`, "unrecognized escape")
	f(`\p{Nope}`, `there is no property "Nope"`)
	f(`\p{L`, `"}" is missing`)
	f("[[:nope:]]", "there is no class [:nope:]")
	f(strings.Repeat("[", 200), "nested too deep")
	f(strings.Repeat("(", 20_000), "more than 10000")
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{`\p{L}+|\s+(?!\S)`, `[^\r\n]?(?i:'s)`, `(?<=a)b{1,3}?`, `[[:punct:]&&[^_]]`, `(?>a|b)*c`, `[^a[^b]&&\W]{,3}`} {
		f.Add(p, "Hello, it's 12 aab\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 40 || len(text) > 12 { // a backtracking engine can take long, as the real one does
			return
		}
		re, err := NewPattern(pattern, &Guard{})
		if err != nil {
			return
		}
		end := 0
		for _, m := range re.FindAll(nil, text) {
			if m.Start < end || m.End < m.Start || m.End > len(text) {
				t.Errorf("%q in %q: %d to %d", pattern, text, m.Start, m.End)
			}
			end = m.End
		}
	})
}
