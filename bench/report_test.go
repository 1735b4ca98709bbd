package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCPURows(t *testing.T) {
	f := func(ours, theirs time.Duration, verdict string) {
		t.Helper()
		r := newReport("")
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
