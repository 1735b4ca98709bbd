package columns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/report/columns"
)

var table = [][]string{
	{"name", "avg", "p50", "p99", "p99.9"},
	{"a long name", "1", "1,000", "–", "–"},
	{"b", "20", "2", "3", "–"},
}

func TestFit(t *testing.T) {
	f := func(width int, want string) {
		t.Helper()
		got := columns.Text(columns.Fit(table, []string{"p50", "p99.9", "no such column"}, width), 1)
		if d := cmp.Diff(got, want[1:]); d != "" {
			t.Errorf("in %d columns (-got +want):\n%s", width, d)
		}
	}
	f(37, `
  name         avg    p50  p99  p99.9
  a long name    1  1,000    –      –
  b             20      2    3      –
`)
	// A column without values goes first, whatever the order.
	f(36, `
  name         avg    p50  p99
  a long name    1  1,000    –
  b             20      2    3
`)
	// What is not spare stays.
	f(10, `
  name         avg  p99
  a long name    1    –
  b             20    3
`)
}

// Every column is in exactly one of the tables, and each table fits.
func TestSplit(t *testing.T) {
	for width := range 50 {
		var heads []string
		for _, part := range columns.Split(table, 1, width) {
			text := columns.Text(part, 1)
			for line := range strings.Lines(text) {
				if n := columns.Width(strings.TrimSuffix(line, "\n")); n > width && len(part[0]) > 2 {
					t.Errorf("%d columns instead of %d: %s", n, width, line)
				}
			}
			if part[1][0] != "a long name" {
				t.Errorf("a row lost its name: %q", part[1])
			}
			heads = append(heads, part[0][1:]...)
		}
		if d := cmp.Diff(heads, table[0][1:]); d != "" {
			t.Errorf("in %d columns (-got +want):\n%s", width, d)
		}
	}
	if n := len(columns.Split(table, 1, 37)); n != 1 {
		t.Errorf("a table that fits became %d", n)
	}
}

func TestColorsTakeNoRoom(t *testing.T) {
	got := columns.Text([][]string{{"\x1b[1mbold\x1b[0m", "n"}, {"x", "12"}}, 1)
	if want := "  \x1b[1mbold\x1b[0m   n\n  x     12\n"; got != want {
		t.Errorf("%q", got)
	}
}
