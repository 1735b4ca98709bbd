package stats_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

func BenchmarkAdd(b *testing.B) {
	for name, before := range map[string]int{"values": 0, "histogram": stats.ExactLimit + 1} {
		b.Run(name, func(b *testing.B) {
			var s stats.Sample[int64]
			for i := range before {
				s.Add(int64(i))
			}
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				s.Add(100_000 + i&0xffff)
			}
		})
	}
}

// BenchmarkQuantiles is what the end of a window costs: its latencies are sorted once.
func BenchmarkQuantiles(b *testing.B) {
	for name, n := range map[string]int{"values": 100_000, "histogram": stats.ExactLimit + 1} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				var s stats.Sample[int64]
				for i := range n {
					s.Add(int64(100_000 + i*7919%65_536))
				}
				b.StartTimer()
				s.Quantiles(50, 90, 95, 99)
			}
		})
	}
}
