package term

import (
	"bytes"
	"io"
	"sync"

	"github.com/redline-bench/redline/internal/report/columns"
)

const (
	least     = 40 // the narrowest width at which lines are folded
	leastText = 30 // how much room a line must have after its indent
	hangs     = 4  // how far the rest of a line is indented: farther than the lines that may follow below it
)

// fold is a writer that breaks lines between words.
type fold struct {
	w     io.Writer
	width func() int

	mu     sync.Mutex
	column int    // where the next word would begin without spaces
	spaces []byte // before the next word
	hang   int    // the indent of the next part of this line
	inside bool   // the line has a word
	broken bool   // the line was folded
}

// Fold returns a writer that breaks lines longer than width between words. The rest of a line is indented: to the last column of a
// table's row that leaves enough room, or four columns more than the line. A width of 0 leaves lines as they are.
func Fold(w io.Writer, width func() int) io.Writer { return &fold{w: w, width: width} }

// Write implements io.Writer. It holds back nothing but spaces at the end of b.
func (f *fold) Write(b []byte) (int, error) {
	width := f.width()
	if width <= 0 {
		return f.w.Write(b)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out bytes.Buffer
	for rest := b; len(rest) > 0; {
		n := 1
		switch rest[0] {
		case ' ':
			f.spaces = append(f.spaces, ' ')
		case '\n':
			out.Write(append(f.spaces, '\n'))
			f.column, f.spaces, f.inside, f.broken = 0, f.spaces[:0], false, false
		default:
			if n = bytes.IndexAny(rest, " \n"); n < 0 {
				n = len(rest)
			}
			f.word(&out, rest[:n], max(width, least))
		}
		rest = rest[n:]
	}
	if _, err := f.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}

// word writes the next word of a line and the spaces before it.
func (f *fold) word(out *bytes.Buffer, word []byte, width int) {
	at, gap := f.column+len(f.spaces), len(f.spaces)
	size := columns.Width(string(word))
	switch {
	case !f.inside:
		f.hang = min(at+hangs, width-leastText)
	case gap > 1 && !f.broken && at <= width-leastText:
		f.hang = at // a column of a table
	}
	if f.inside && gap > 0 && at+size > width {
		out.WriteByte('\n')
		out.Write(bytes.Repeat([]byte(" "), f.hang))
		at, f.broken = f.hang, true
	} else {
		out.Write(f.spaces)
	}
	out.Write(word)
	f.column, f.spaces, f.inside = at+size, f.spaces[:0], true
}
