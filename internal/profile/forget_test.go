package profile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// A window keeps its latencies as long as it may be one of the three that count: later windows without answers may bring
// it back. Its counts stay for ever.
func TestOldWindowsAreForgotten(t *testing.T) {
	f := func(answers, kept []uint64) {
		t.Helper()
		m := &levelRun{lv: &result.Level{}}
		for _, n := range answers {
			p := &pass{rec: measure.New(measure.Config{})}
			for range n {
				p.rec.Add(&record.Record{End: 5})
			}
			m.passes = append(m.passes, p)
			m.lv.Windows = append(m.lv.Windows, result.Window{Client: result.Client{Requests: n}})
			m.forgetOld()
		}
		var got, counts []uint64
		for _, p := range m.passes {
			c := p.rec.Client(time.Second)
			got, counts = append(got, c.Latency.Count), append(counts, c.Requests)
		}
		if diff := cmp.Diff(kept, got); diff != "" {
			t.Errorf("latencies of %v: %s", answers, diff)
		}
		if diff := cmp.Diff(answers, counts); diff != "" {
			t.Errorf("counts of %v: %s", answers, diff)
		}
		for _, p := range m.used() {
			if c := p.rec.Client(time.Second); c.Latency.Count != c.Requests {
				t.Errorf("a window of %v counts and is forgotten", answers)
			}
		}
	}
	f([]uint64{1, 2, 3}, []uint64{1, 2, 3})
	f([]uint64{1, 2, 3, 4, 5}, []uint64{0, 0, 3, 4, 5})
	f([]uint64{1, 2, 3, 0, 4, 0}, []uint64{0, 2, 3, 0, 4, 0})
	f([]uint64{1, 2, 3, 4, 0, 0, 0, 0}, []uint64{0, 2, 3, 4, 0, 0, 0, 0})
}
