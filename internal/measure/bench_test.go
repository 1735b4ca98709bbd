package measure_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/stats"
)

// BenchmarkWindowAdd takes one record into a window: of a closed loop, of an open one, and of one with so many
// records that the histogram has taken over.
func BenchmarkWindowAdd(b *testing.B) {
	for name, tc := range map[string]struct {
		setup  measure.Setup
		before int
	}{
		"closed":    {},
		"open":      {setup: measure.Setup{Open: true}},
		"histogram": {before: stats.ExactLimit + 1},
	} {
		b.Run(name, func(b *testing.B) {
			r := record.Record{Due: 1000, Sent: 1100, Written: 1200, First: 90_000, End: 100_000, Responses: 1}
			w := measure.NewWindow(tc.setup)
			for range tc.before {
				w.Add(&r)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.End += 7
				w.Add(&r)
			}
		})
	}
}
