package pace_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
)

func BenchmarkNext(b *testing.B) {
	for name, s := range map[string]pace.Schedule{
		"constant": pace.Constant(30_000), "poisson": pace.Poisson(30_000, 1),
		"intervals": pace.Intervals([]time.Duration{time.Millisecond, time.Microsecond}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Next()
			}
		})
	}
}
