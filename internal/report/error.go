package report

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// MeasurementError describes the error of a level's times: one line with a label, and one line for each reason why the true
// error may differ.
func MeasurementError(indent, label string, e *result.MeasurementError) string {
	var b strings.Builder
	what, pace := "", "requests/s"
	if e.Tokens != nil {
		what, pace = "a token's time ", "tokens/s"
	}
	p99 := ""
	if e.AtLeast {
		p99 = "at least "
	}
	fmt.Fprintf(&b, "%s%s: %s%s at p50, %s%s at p99", indent, label, what, Signed(e.P50Ns), p99, Signed(e.P99Ns))
	if t := e.Tokens; t != nil {
		fmt.Fprintf(&b, "; mean time to first token %s, between tokens %s", Signed(t.TTFTNs), Signed(t.ITLNs))
	}
	if e.Exact {
		fmt.Fprintf(&b, ", calibrated with this traffic at %s %s", unit.Digits(e.PerSecond, 3), pace)
	} else {
		fmt.Fprintf(&b, ", the nearest calibrated traffic: %s", e.Of)
	}
	for _, note := range e.Notes {
		b.WriteString("\n" + indent + "  " + note)
	}
	return b.String() + "\n"
}

// Signed is a difference of times with its sign. Less than resolution is none.
func Signed(ns int64) string {
	const resolution = 50
	switch {
	case ns >= resolution:
		return "+" + unit.Span(float64(ns))
	case ns <= -resolution:
		return unit.Span(float64(ns))
	}
	return "0"
}
