package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// Traces writes where the slowest requests of each level spent their time, by the traces of client and server.
func Traces(w io.Writer, res *result.Result, s Style) {
	p := page{Style: s}
	for i := range res.Levels {
		lv := &res.Levels[i]
		if lv.ServerTraces == nil {
			continue
		}
		p.linef("Server traces at %s:", measure.LevelName(lv))
		if t := lv.ServerTraces; t.Note != "" {
			p.linef("  %s %s", p.paint(yellow, "Note:"), cleantext.Line(t.Note))
		} else {
			p.linef("  %d requests were traced; the server's clock is %s", t.Matched, t.Clock)
		}
		for _, r := range lv.ServerTraces.Slowest[:min(3, len(lv.ServerTraces.Slowest))] {
			p.linef("  request %s: %s: %s", cleantext.Line(r.RequestID), took(r.LatencyNs), strings.Join(shares(&r), ", "))
		}
	}
	p.to(w)
}

// shares says how long each part of a request took; the steps of an ensemble are within its model.
func shares(r *result.RequestTrace) []string {
	var out []string
	known := int64(0)
	for _, s := range r.Spans {
		if part := !s.Server && s.Name == result.SpanWaits || s.Server && s.Depth == 1; part && s.EndNs-s.StartNs >= int64(time.Microsecond) {
			out = append(out, fmt.Sprintf("%s %s", cleantext.Line(s.Name), took(s.EndNs-s.StartNs)))
			known += s.EndNs - s.StartNs
		}
	}
	return append(out, "network and the rest "+took(max(0, r.LatencyNs-known)))
}

func took(ns int64) string { return unit.Span(float64(ns)) }
