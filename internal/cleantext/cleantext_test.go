package cleantext_test

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/cleantext"
)

func TestLine(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := cleantext.Line(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	f("", "")
	f("model 'x' is not found", "model 'x' is not found")
	f("  a\r\n\tb\x00c  ", "a b c")
	f("\x1b[2J\x1b[31mVerdict: valid", "[2J [31mVerdict: valid")
	f("title \x1b]0;owned\x07 end", "title ]0;owned end")
	f("C1 \u009b31m", "C1 31m")
	f("right-to-left \u202eexe.txt", "right-to-left exe.txt")
	f("broken \xff\xfe text", "broken text")
	f("Grüße, 世界", "Grüße, 世界")
	f(strings.Repeat("x", 5<<20), strings.Repeat("x", 300)+"...")
	f(strings.Repeat("世", 300), strings.Repeat("世", 300))
}

func TestBlock(t *testing.T) {
	if got, want := cleantext.Block("a\x1b[2J\r\n\tb\x00\n", 100), "a[2J\n\tb\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := cleantext.Block("abcdef", 3), "abc..."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
