package term_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/term"
)

func folded(t *testing.T, width int, writes ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := term.Fold(&b, func() int { return width })
	for _, text := range writes {
		if n, err := io.WriteString(w, text); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
	}
	return b.String()
}

func TestFold(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		for _, writes := range [][]string{{text}, strings.SplitAfter(text, " "), strings.SplitAfter(text, "\n")} {
			if d := cmp.Diff(folded(t, 50, writes...), want); d != "" {
				t.Errorf("%s, in %d writes (-got +want):\n%s", name, len(writes), d)
			}
		}
	}
	f("short lines", "  Client: \n    Request count: 478\n\n", "  Client: \n    Request count: 478\n\n")
	f("an indented line", "    Read lag: p50 269 µs, p99 395 ms, max of all requests 659 ms; not part of any latency\nnext\n", `    Read lag: p50 269 µs, p99 395 ms, max of all
        requests 659 ms; not part of any latency
next
`)
	f("a table's row", "  server   20  the server ran out of memory while it loaded the model again and again\n", `  server   20  the server ran out of memory while
               it loaded the model again and again
`)
	f("a row whose last column is far to the right", "  1  100  search  0.5s  holds?        the highest latency of 100 requests\n", `  1  100  search  0.5s  holds?        the highest
                  latency of 100 requests
`)
	f("a long word", "see http://a.very.long.host.example.com/with/a/path/that/has/no/space\n", "see\n    http://a.very.long.host.example.com/with/a/path/that/has/no/space\n")
	f("colors", "\x1b[1mVerdict:\x1b[0m \x1b[32mvalid\x1b[0m, the client kept up and every level\n", "\x1b[1mVerdict:\x1b[0m \x1b[32mvalid\x1b[0m, the client kept up and every level\n")
}

// Where the width is not known, lines stay as they are.
func TestFoldWithoutWidth(t *testing.T) {
	text := strings.Repeat("word ", 100) + "\n"
	if got := folded(t, 0, text); got != text {
		t.Error(got)
	}
}
