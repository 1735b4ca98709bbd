// Package term shows the progress of a run at the bottom of a terminal: in one line, or as a view with a row for each level.
//
// Progress is never part of the output. All other output goes through Writer, which removes the progress first and draws it
// again below. A nil Line is for a run without a terminal: its methods do nothing, and Writer returns its argument.
//
// Nothing in this package changes the mode of the terminal, hides the cursor or uses another screen. A program that ends in
// any way leaves a terminal that works.
package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"

	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
)

// interval is the shortest time between two drawings; a user does not see more.
const interval = 100 * time.Millisecond

// fallbackWidth and fallbackHeight are the size of a terminal whose size is unknown.
const fallbackWidth, fallbackHeight = 80, 24

// erase moves to the first column and clears the line.
const erase = "\r\x1b[K"

// Line is the progress line of one terminal. It is safe for concurrent use.
type Line struct {
	out  io.Writer
	size func() (width, height int)
	now  func() time.Time
	json bool  // progress is written as JSON, not drawn
	view *view // nil draws one line

	mu     sync.Mutex
	status Status
	active bool     // there is a status to show
	frame  []string // the rows on the screen
	inside bool     // other output stopped within a line
	held   bool     // nothing is drawn
	last   time.Time
	// What the workers of a fleet had done at the last look, and when that was.
	workers []result.Worker
	looked  time.Time
}

// Open makes the line of a terminal, which is drawn through out. It is nil if f is not a terminal.
func Open(f *os.File, out io.Writer) *Line {
	fd := int(f.Fd())
	if !xterm.IsTerminal(fd) {
		return nil
	}
	return New(out, func() (int, int) {
		w, h, err := xterm.GetSize(fd)
		if err != nil {
			return 0, 0
		}
		return w, h
	}, time.Now)
}

// New makes a line on out, which must support ANSI escapes. size is called before each drawing; 0 means unknown.
func New(out io.Writer, size func() (width, height int), now func() time.Time) *Line {
	return &Line{out: out, size: size, now: now}
}

// View is a view with a row for each level, in the place of the line.
func (l *Line) View(look Look) *Line {
	if l == nil {
		return nil
	}
	return &Line{out: l.out, size: l.size, now: l.now, view: &view{look: look}}
}

// Show puts the status on the screen, at most ten times per second, or as a view at most four times.
func (l *Line) Show(s Status) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.now()
	l.look(&s, t)
	l.status, l.active = s, true
	switch {
	case l.json && t.Sub(l.last) >= beat:
		l.last = t
		l.tell()
	case l.view != nil && t.Sub(l.last) >= viewInterval:
		l.last = t
		l.view.note(s)
		l.draw()
	case !l.json && l.view == nil && t.Sub(l.last) >= interval:
		l.last = t
		l.draw()
	}
}

// EndLevel notes the numbers of a level that has ended, for the view.
func (l *Line) EndLevel(s Status) {
	if l == nil || l.view == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.end(s)
}

// Clear removes the line until the next Show.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = false
	l.last = time.Time{}
	l.erase()
}

// Hold removes the line and draws nothing until release is called.
func (l *Line) Hold() (release func()) {
	set := func(held bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = held
		l.erase()
	}
	set(true)
	return func() { set(false) }
}

// Writer returns a writer to w that removes the line before each write and draws it again after.
func (l *Line) Writer(w io.Writer) io.Writer {
	if l == nil || l.json {
		return w
	}
	return &writer{line: l, to: w}
}

// draw writes the rows in the place of those on the screen, one column short of the width: a full row would wrap on many
// terminals.
func (l *Line) draw() {
	if l.inside || l.held {
		return
	}
	width, height := l.dimensions()
	rows := []string{l.status.fit(width - 1)}
	if l.view != nil {
		rows = l.view.rows(&l.status, width-1, height-1)
	}
	var b strings.Builder
	b.WriteString(l.back(width))
	b.WriteString(strings.Join(rows, "\x1b[K\r\n") + "\x1b[K")
	if len(l.frame) > 1 {
		b.WriteString("\x1b[J")
	}
	_, _ = io.WriteString(l.out, b.String()) // a lost terminal must not end the run
	l.frame = rows
}

func (l *Line) dimensions() (width, height int) {
	width, height = l.size()
	if width <= 0 {
		width = fallbackWidth
	}
	if height <= 0 {
		height = fallbackHeight
	}
	return width, height
}

// back moves to the start of the rows on the screen. A terminal that became narrower has folded them.
func (l *Line) back(width int) string {
	up := -1
	for _, row := range l.frame {
		up += 1 + max(0, columns.Width(row)-1)/width
	}
	if up <= 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", up)
}

func (l *Line) erase() {
	switch {
	case len(l.frame) == 0:
	case l.view == nil:
		_, _ = io.WriteString(l.out, erase)
	default:
		width, _ := l.dimensions()
		_, _ = io.WriteString(l.out, l.back(width)+"\x1b[J")
	}
	l.frame = nil
}

type writer struct {
	line *Line
	to   io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	l := w.line
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	n, err := w.to.Write(p)
	if n > 0 {
		l.inside = p[n-1] != '\n'
	}
	if l.active {
		l.draw()
	}
	return n, err
}
