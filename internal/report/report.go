// Package report holds what redline adds to the report of a run: how the client itself fared, the failures by
// class, latency from the schedule beside latency from the send, the verdict, and the whole result as JSON.
//
// Each file is one writer of the result tree. Writers are pure: the same result gives the same bytes. The text
// follows the manner of the console report around it, two spaces in and microseconds throughout, so that a level
// reads as one block.
package report

import (
	"bytes"
	"fmt"
	"io"
)

// Style is how text is dressed. The zero value is plain.
type Style struct {
	// Color allows ANSI colors.
	Color bool
}

// The colors, as ANSI parameters.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint wraps text in a color, where colors are allowed.
func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// page collects a block of lines, so that it reaches its writer in one piece.
type page struct {
	Style
	buf bytes.Buffer
}

func (p *page) linef(format string, args ...any) {
	fmt.Fprintf(&p.buf, format, args...)
	p.buf.WriteByte('\n')
}

// to hands the block to w. A console that is gone is nobody's concern here.
func (p *page) to(w io.Writer) { _, _ = w.Write(p.buf.Bytes()) }

// us is nanoseconds as whole microseconds.
func us(ns int64) int64 { return ns / 1000 }

// percent is part of whole in percent, 0 when there is no whole.
func percent(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole * 100
}
