// Package report writes what redline adds to the table of levels: the client health, failures by class, latencies from
// due time and send time, the verdict, and the whole result as JSON.
//
// Each file is one writer of the result tree. Writers are pure: equal results give equal bytes. The text has the form of the
// console report around it, an indent of two spaces, so that a level reads as one block. Times have the unit that people would take.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
)

// Style is the style of text. The zero value is plain text.
type Style struct {
	// Color allows ANSI colors.
	Color bool
	// Width is how many columns a line may have; 0 if the output has no width, as a file.
	Width int
}

// pageWidth is the width of tables where the output has no width: they must be readable in a terminal that shows the file.
const pageWidth = 80

// TableWidth is how many columns the row of a table may have.
func (s Style) TableWidth() int { return cmp.Or(s.Width, pageWidth) }

// The colors, as ANSI parameters.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint wraps text in a color, if colors are allowed.
func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// page collects a block of lines, so that it is written at once.
type page struct {
	Style
	buf bytes.Buffer
}

func (p *page) linef(format string, args ...any) {
	fmt.Fprintf(&p.buf, format, args...)
	p.buf.WriteByte('\n')
}

// to writes the block to w. Write errors are ignored: the console may have gone.
func (p *page) to(w io.Writer) { _, _ = w.Write(p.buf.Bytes()) }

// percent is part of whole in percent, 0 when there is no whole.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole * 100
}
