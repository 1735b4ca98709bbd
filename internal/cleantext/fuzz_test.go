package cleantext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/cleantext"
)

// No text of a server gets a control character or a line break past Line, or is longer than allowed.
func FuzzLine(f *testing.F) {
	f.Add("model 'x' is not found")
	f.Add("\x1b[2J\x1b]0;title\x07 \u009b31m \u202e\xff\r\n")
	f.Add(strings.Repeat("\u4e16 ", 400))
	f.Fuzz(func(t *testing.T, text string) {
		line := cleantext.Line(text)
		if n := utf8.RuneCountInString(line); n > cleantext.Limit+1+len("...") {
			t.Errorf("%d characters", n)
		}
		if strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line) || cleantext.Line(line) != line && len(line) < cleantext.Limit {
			t.Errorf("%q", line)
		}
		block := cleantext.Block(text, 100)
		if utf8.RuneCountInString(block) > 103 || strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(block), unicode.IsControl) {
			t.Errorf("%q", block)
		}
	})
}
