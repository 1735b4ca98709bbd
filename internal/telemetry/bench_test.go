package telemetry_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
)

// BenchmarkAdd is what the tally costs per request.
func BenchmarkAdd(b *testing.B) {
	tally, lv := telemetry.NewTally(), &result.Level{Mode: plan.Concurrency, Concurrency: 4}
	r := record.Record{Sent: 1000, End: 2_000_000}
	b.ReportAllocs()
	for b.Loop() {
		r.End = 2_000_000 + r.End*7%1_000_000
		tally.Add(lv, false, &r)
	}
}

// Counting a request allocates nothing.
func TestAddAllocatesNothing(t *testing.T) {
	tally, lv := telemetry.NewTally(), &result.Level{Mode: plan.Concurrency, Concurrency: 4}
	r := record.Record{Sent: 1000, End: 2_000_000}
	if n := testing.AllocsPerRun(1000, func() { tally.Add(lv, false, &r) }); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}
