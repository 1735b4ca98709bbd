package main

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	f := func(ours, theirs time.Duration, verdict string) {
		t.Helper()
		r := newReport()
		s := func(d time.Duration) []sample {
			return []sample{{1000, 9 * d, time.Second}, {1000, 1000 * d, time.Second}, {1000, 5000 * d, time.Second}}
		}
		samples := map[string][]sample{"redline": s(ours)}
		if theirs > 0 {
			samples["wrk"] = s(theirs)
		}
		r.add(work{name: "HTTP", protocol: "http", inFlight: 8, peer: "wrk", bar: 1.25}, samples)
		if got := r.Rows[0]; got.Verdict != verdict || got.CPUMicros != float64(ours.Microseconds()) {
			t.Errorf("%v against %v: %+v, want %s", ours, theirs, got, verdict)
		}
		if text := r.markdown(); !strings.Contains(text, verdict) {
			t.Errorf("no %q in\n%s", verdict, text)
		}
	}
	f(5*time.Microsecond, 4*time.Microsecond, "reached")
	f(6*time.Microsecond, 4*time.Microsecond, "missed")
	f(6*time.Microsecond, 0, "not measured")
}
