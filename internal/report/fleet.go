package report

import (
	"fmt"
	"io"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// mostWorkers limits how many workers are listed one by one; the result has all of them.
const mostWorkers = 20

// workers shows what each worker of a fleet did. Of a large fleet it shows those with problems first.
func workers(p *page, l *result.Level) {
	if len(l.Workers) == 0 {
		return
	}
	table := [][]string{{"Workers:", "requests", "per sec", "failed", "p50", "p99", "CPU", "send lag p99", ""}}
	shown := 0
	for _, troubled := range []bool{true, false} {
		for i := range l.Workers {
			w := &l.Workers[i]
			if bad := w.ClientLimited || w.Lost != ""; bad != troubled || shown == mostWorkers {
				continue
			}
			shown++
			state := ""
			switch {
			case w.Lost != "":
				state = "lost: " + cleantext.Line(w.Lost)
			case w.ClientLimited:
				state = "client-limited"
			}
			table = append(table, []string{
				"  " + cleantext.Line(w.Name), fmt.Sprint(w.Requests), fmt.Sprintf("%.6g", w.InferPerSec), fmt.Sprint(w.Failed), unit.Span(float64(w.P50Ns)),
				unit.Span(float64(w.P99Ns)), fmt.Sprintf("%.2f", w.Health.CPUCores), unit.Span(float64(w.Health.LagP99Ns)), state,
			})
		}
	}
	p.table(table, 1, []string{"p50", "CPU"})
	if rest := len(l.Workers) - shown; rest > 0 {
		p.linef("  and %d more, in the result of --json", rest)
	}
}

// Workers writes what each worker of a fleet did in a level. It writes nothing for a level without a fleet.
func Workers(w io.Writer, l *result.Level, style Style) {
	p := page{Style: style}
	workers(&p, l)
	p.to(w)
}

// Fleet writes how exactly the workers of a run worked together. A run whose records were collected later has none.
func Fleet(w io.Writer, f *result.Fleet) {
	if f == nil || len(f.Members) == 0 {
		return
	}
	lost := 0
	for _, m := range f.Members {
		if m.Lost != "" {
			lost++
		}
	}
	fmt.Fprintf(w, "Fleet: run %s, %s (%d lost), started at most %s apart, clocks known to within %s\n", f.Run, unit.Count(len(f.Members), "worker"), lost,
		unit.Span(float64(f.StartSkewNs+2*f.ClockErrorNs)), unit.Span(float64(f.ClockErrorNs)))
}
