package markdown_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/report/markdown"
)

func TestForeignTextIsNoMarkup(t *testing.T) {
	f := func(text, cell, code string) {
		t.Helper()
		if got := markdown.Cell(text); got != cell {
			t.Errorf("%q in a cell is %q, want %q", text, got, cell)
		}
		if got := markdown.Code(text); got != code {
			t.Errorf("%q as code is %q, want %q", text, got, code)
		}
	}
	f("plain", "plain", "plain")
	f("a|b", `a\|b`, `a\|b`)
	f("<img src=x>", "&lt;img src=x&gt;", "<img src=x>")
	f("two\nlines\r\n\x1b[31mred", `two lines \[31mred`, "two lines [31mred")
	f("`*_[x](y)", "\\`\\*\\_\\[x\\](y)", "'*_[x](y)")
}
