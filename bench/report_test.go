package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/convert"
)

func TestCPURows(t *testing.T) {
	f := func(ours, theirs time.Duration, verdict string) {
		t.Helper()
		r := newReport("")
		s := func(d time.Duration) (list []sample) {
			for _, disturbed := range []int{1, 1, 9, 1, 1, 5, 1, 1} {
				list = append(list, sample{1000 / disturbed, 1000 * d, time.Second})
			}
			return list
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

// A ratio beyond the bar is a miss only if all of its interval is.
func TestCompare(t *testing.T) {
	f := func(b bar, want string, ratios ...float64) {
		t.Helper()
		theirs := slices.Repeat([]float64{2}, len(ratios))
		ours := convert.All(ratios, func(r float64) float64 { return 2 * r })
		var x row
		if x.compare(b, ours, theirs); x.Verdict != want {
			t.Errorf("%v, %v: %+v, want %s", b, ratios, x, want)
		}
	}
	most, least := atMost(1.05, "× without"), atLeast(0.95, "× the bare loop")
	f(most, reached, 1.01, 1.02, 1.02, 1.03, 1.03, 1.04)
	f(most, reached, 0.9, 1, 1.02, 1.03, 1.2, 1.3)
	f(most, inconclusive, 0.9, 1, 1.06, 1.07, 1.2, 1.3)
	f(most, missed, 1.06, 1.06, 1.07, 1.07, 1.2, 1.3)
	f(most, missed, 1.06, 1.06, 1.07) // no interval
	f(least, reached, 0.96, 0.97, 0.98, 0.99, 1, 1.1)
	f(least, inconclusive, 0.8, 0.9, 0.91, 0.92, 0.96, 1.1)
	f(least, missed, 0.8, 0.9, 0.9, 0.91, 0.92, 0.93)
}

// Turns end when the ratio is clearly on one side of the bar, or after the most turns.
func TestTurns(t *testing.T) {
	f := func(want int, ratio func(n int) float64) {
		t.Helper()
		n := 0
		ours, theirs, err := turns(atMost(1, "× wrk"), func() (float64, float64, error) { n++; return ratio(n), 1, nil })
		if err != nil || len(ours) != want || len(theirs) != want {
			t.Errorf("%d turns (%v), want %d", len(ours), err, want)
		}
	}
	f(leastTurns, func(int) float64 { return 0.5 })
	f(leastTurns, func(int) float64 { return 2 })
	f(mostTurns, func(n int) float64 { return 0.9 + 0.2*float64(n%2) })
	failed := errors.New("no response")
	if _, _, err := turns(atMost(1, ""), func() (float64, float64, error) { return 0, 0, failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
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

func TestWhatWasMeasuredIsNeverLost(t *testing.T) {
	f := func(strict bool, want int, measure func(context.Context, *report) error) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "out")
		code := show(dir, strict, func(ctx context.Context, r *report) error {
			r.add(row{Work: "first", Tool: "redline", Figure: 1, Verdict: reached})
			if text, err := os.ReadFile(filepath.Join(dir, "bench.json")); err != nil || !strings.Contains(string(text), "first") {
				t.Errorf("after the first row: %s, %v", text, err)
			}
			return measure(ctx, r)
		})
		text, err := os.ReadFile(filepath.Join(dir, "bench.md"))
		if code != want || err != nil || !strings.Contains(string(text), "first") {
			t.Errorf("exit code %d, want %d; %v\n%s", code, want, err, text)
		}
	}
	f(true, 0, func(context.Context, *report) error { return nil })
	f(false, 1, func(context.Context, *report) error { return errors.New("broken") })
	f(false, 130, func(ctx context.Context, _ *report) error {
		err := syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-ctx.Done()
		return err
	})
	f(false, 0, func(_ context.Context, r *report) error { r.failed = true; return nil })
	f(true, 1, func(_ context.Context, r *report) error { r.failed = true; return nil })
	f(true, 1, func(_ context.Context, r *report) error { r.add(row{Work: "second", Verdict: missed}); return nil })
}
