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
	fmt.Fprintf(&b, "%s%s: %s%s usec at p50, %s%s usec at p99", indent, label, what, signedMicros(e.P50Ns), p99, signedMicros(e.P99Ns))
	if t := e.Tokens; t != nil {
		fmt.Fprintf(&b, "; mean time to first token %s usec, between tokens %s usec", signedMicros(t.TTFTNs), signedMicros(t.ITLNs))
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

// signedMicros is a time in microseconds with its sign, with a decimal where it is short.
func signedMicros(ns int64) string {
	if ns > -50 && ns < 50 {
		return "0.0"
	}
	if ns > -10_000 && ns < 10_000 {
		return fmt.Sprintf("%+.1f", float64(ns)/1000)
	}
	return fmt.Sprintf("%+d", ns/1000)
}
