package main

import (
	"strings"
	"testing"
	"time"
)

func TestCPURows(t *testing.T) {
	f := func(ours, theirs time.Duration, verdict string) {
		t.Helper()
		r := newReport()
		s := func(d time.Duration) []sample {
			return []sample{{1000, 5000 * d, time.Second}, {1000, 1000 * d, time.Second}, {1000, 9000 * d, time.Second}}
		}
		samples := map[string][]sample{"redline": s(ours)}
		if theirs > 0 {
			samples["wrk"] = s(theirs)
		}
		r.addCPU(work{name: "HTTP", protocol: "http", inFlight: 8, peer: "wrk", bar: 1.25}, samples)
		if got := r.Rows[0]; got.Verdict != verdict || got.Figure != float64(ours.Microseconds()) {
			t.Errorf("%v against %v: %+v, want %s", ours, theirs, got, verdict)
		}
		if text := r.markdown(); !strings.Contains(text, verdict) || !strings.Contains(text, "≤ 1.25 × wrk") {
			t.Errorf("no %q in\n%s", verdict, text)
		}
	}
	f(5*time.Microsecond, 4*time.Microsecond, reached)
	f(6*time.Microsecond, 4*time.Microsecond, missed)
	f(6*time.Microsecond, 0, unknown)
}

func TestJudge(t *testing.T) {
	f := func(b bar, measured float64, want string) {
		t.Helper()
		var r row
		if r.judge(b, measured); r.Verdict != want {
			t.Errorf("%v, %v: %s, want %s", b, measured, r.Verdict, want)
		}
	}
	f(atMost(32, "MiB more"), 32, reached)
	f(atMost(32, "MiB more"), 33, missed)
	f(atLeast(99.9, "% of the rate"), 99.95, reached)
	f(atLeast(99.9, "% of the rate"), 99.8, missed)
}
