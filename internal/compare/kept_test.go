package compare

import "testing"

func TestKept(t *testing.T) {
	f := func(want string, rows ...Row) {
		t.Helper()
		if got := (&Report{Rows: rows}).Kept(0.03); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	faster := Row{Level: "concurrency 4", Name: "p50", Finding: Same, Change: -0.2}
	f("no number is worse", faster, Row{Level: "concurrency 4", Name: "throughput", Higher: true, Finding: Same, Change: 0.1})
	f("throughput -2.0 % at concurrency 4, within 3 %", faster, Row{Level: "concurrency 4", Name: "throughput", Higher: true, Finding: Same, Change: -0.02},
		Row{Level: "concurrency 4", Name: "server.queue", Finding: Shown, Change: 5})
	f("p99 +4.0 % at concurrency 1, not surely more than 3 %", Row{Level: "concurrency 1", Name: "p99", Finding: Same, Change: 0.04})

	capacity := Row{Name: "capacity", Unit: "in flight", Higher: true, Finding: Same, A: 10, B: 10}
	f("capacity went from 10 to 10 in flight, 0 %", capacity, faster)
	capacity.B, capacity.Change = 9.8, -0.02
	f("capacity went from 10 to 9.8 in flight, −2.0 %, within 3 %", capacity, Row{Level: "concurrency 10", Name: "p99", Finding: Same, Change: 0.5})
}
