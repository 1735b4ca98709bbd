package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// Server writes what the server's own metrics reported at a level, if they were read.
func Server(w io.Writer, l *result.Level, s Style) {
	p := page{Style: s}
	serverMetrics(&p, l.ServerMetrics)
	p.to(w)
}

// serverMetrics writes what the server's own metrics reported in the measured windows.
func serverMetrics(p *page, m *result.ServerMetrics) {
	if m == nil {
		return
	}
	p.linef("  %s", p.paint(bold, "Server metrics:"))
	shown := false
	for rest := m.Series; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Name == rest[0].Name {
			n++
		}
		shown = quantity(p, rest[:n]) || shown
		rest = rest[n:]
	}
	if !shown {
		p.linef("    none with a common name")
	}
	if m.PowerWatts > 0 {
		parts := []string{withUnit(m.PowerWatts, "W") + " for all GPUs"}
		if m.JoulesPerInference > 0 {
			parts = append(parts, withUnit(m.JoulesPerInference, "J")+" per inference")
		}
		if m.JoulesPerToken > 0 {
			parts = append(parts, withUnit(m.JoulesPerToken, "J")+" per output token")
		}
		p.linef("    Energy: %s", strings.Join(parts, ", "))
	}
	for _, n := range m.Notes {
		p.linef("    %s %s", p.paint(yellow, "Note:"), cleantext.Line(n))
	}
}

// quantity writes one line for a quantity, of one or several servers or GPUs, and reports whether it has a value.
func quantity(p *page, list []result.ServerSeries) bool {
	var sum, most, low, high float64
	n := 0
	for i := range list {
		s := &list[i]
		if !s.Known {
			continue
		}
		if n == 0 {
			low, high, most = s.Avg, s.Avg, s.Max
		}
		n++
		sum, most, low, high = sum+s.Avg, max(most, s.Max), min(low, s.Avg), max(high, s.Avg)
	}
	if n == 0 {
		return false
	}
	units, each := list[0].Unit, ""
	if n > 1 {
		what := "servers"
		if list[0].Of != "" {
			what = "GPUs"
		}
		each = fmt.Sprintf(" of %d %s, from %s to %s", n, what, withUnit(low, units), withUnit(high, units))
	}
	p.linef("    %s: %s on average%s, %s at most", list[0].Title, withUnit(sum/float64(n), units), each, withUnit(most, units))
	return true
}

// withUnit formats a value with its unit.
func withUnit(v float64, units string) string {
	text := unit.Digits(v, 4)
	if strings.HasPrefix(units, "/") {
		return text + units
	}
	return text + " " + units
}
