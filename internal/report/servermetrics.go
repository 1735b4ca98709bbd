package report

import (
	"io"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
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

// quantity writes one line for a quantity, of one server or of several GPUs, and reports whether it has a value.
func quantity(p *page, list []result.ServerSeries) bool {
	var sum, most, low, high, n float64
	for i := range list {
		s := &list[i]
		if !s.Known {
			continue
		}
		if n == 0 {
			low, high = s.Avg, s.Avg
		}
		n++
		sum, most, low, high = sum+s.Avg, max(most, s.Max), min(low, s.Avg), max(high, s.Avg)
	}
	if n == 0 {
		return false
	}
	unit, each := list[0].Unit, ""
	if n > 1 {
		each = " of " + strconv.FormatFloat(n, 'f', 0, 64) + " GPUs, from " + withUnit(low, unit) + " to " + withUnit(high, unit)
	}
	p.linef("    %s: %s on average%s, %s at most", list[0].Title, withUnit(sum/n, unit), each, withUnit(most, unit))
	return true
}

// withUnit formats a value with its unit.
func withUnit(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'g', 4, 64)
	if v >= 1e4 {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	if strings.HasPrefix(unit, "/") {
		return text + unit
	}
	return text + " " + unit
}
