// Package term shows the progress of a run in one line at the bottom of a terminal.
//
// The line is never part of the output. All other output goes through Writer, which removes the line first and draws it again
// below. A nil Line is for a run without a terminal: its methods do nothing, and Writer returns its argument.
package term

import (
	"io"
	"os"
	"sync"
	"time"

	xterm "golang.org/x/term"
)

// interval is the shortest time between two drawings; a user does not see more.
const interval = 100 * time.Millisecond

// fallbackWidth is the width of a terminal whose size is unknown.
const fallbackWidth = 80

// erase moves to the first column and clears the line.
const erase = "\r\x1b[K"

// Line is the progress line of one terminal. It is safe for concurrent use.
type Line struct {
	out   io.Writer
	width func() int
	now   func() time.Time
	json  bool // progress is written as JSON, not drawn

	mu     sync.Mutex
	status Status
	active bool // there is a status to show
	drawn  bool // the line is on the screen
	inside bool // other output stopped within a line
	last   time.Time
}

// Open makes the line of a terminal, which is drawn through out. It is nil if f is not a terminal.
func Open(f *os.File, out io.Writer) *Line {
	fd := int(f.Fd())
	if !xterm.IsTerminal(fd) {
		return nil
	}
	return New(out, func() int {
		w, _, err := xterm.GetSize(fd)
		if err != nil {
			return 0
		}
		return w
	}, time.Now)
}

// New makes a line on out, which must support ANSI escapes. width is called before each drawing; 0 means unknown.
func New(out io.Writer, width func() int, now func() time.Time) *Line {
	return &Line{out: out, width: width, now: now}
}

// Show puts the status on the screen, at most ten times per second.
func (l *Line) Show(s Status) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status, l.active = s, true
	t := l.now()
	switch {
	case l.json && t.Sub(l.last) >= beat:
		l.last = t
		l.tell()
	case !l.json && t.Sub(l.last) >= interval:
		l.last = t
		l.draw()
	}
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

// Writer returns a writer to w that removes the line before each write and draws it again after.
func (l *Line) Writer(w io.Writer) io.Writer {
	if l == nil || l.json {
		return w
	}
	return &writer{line: l, to: w}
}

// draw writes the line, one column short of the width: a full row would wrap on many terminals.
func (l *Line) draw() {
	if l.inside {
		return
	}
	width := l.width()
	if width <= 0 {
		width = fallbackWidth
	}
	_, _ = io.WriteString(l.out, "\r"+l.status.fit(width-1)+"\x1b[K") // a lost terminal must not end the run
	l.drawn = true
}

func (l *Line) erase() {
	if l.drawn {
		_, _ = io.WriteString(l.out, erase)
		l.drawn = false
	}
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
