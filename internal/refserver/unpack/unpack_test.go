package unpack_test

import (
	"io"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/unpack"
)

// The budget is that of all readers together, and a reader that is closed gives its share back.
func TestBudget(t *testing.T) {
	var b unpack.Budget
	b.SetLimit(10)
	read := func(size int, want int64, refused bool) *unpack.Reader {
		t.Helper()
		r := b.Reader(strings.NewReader(strings.Repeat("x", size)))
		n, err := io.Copy(io.Discard, r)
		if n != want || (err != nil) != refused || refused && infer.CodeOf(err) != infer.TooLarge {
			t.Errorf("%d bytes beside %d: read %d, %v", size, b.Held()-n, n, err)
		}
		return r
	}
	first := read(6, 6, false)
	second := read(4, 4, false)
	third := read(1, 1, true)
	for _, r := range []*unpack.Reader{first, third, third} {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	read(7, 7, true)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.Held(); got != 7 {
		t.Errorf("%d bytes are held, 7 were read", got)
	}
	b.SetLimit(0)
	read(1000, 1000, false)
}
