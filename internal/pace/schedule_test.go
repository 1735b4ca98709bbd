package pace_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pace"
)

func take(s pace.Schedule, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i], _ = s.Next()
	}
	return out
}

func TestConstantIsDueAtMultiplesOfTheInterval(t *testing.T) {
	got := take(pace.Constant(4), 4)
	want := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond, time.Second}
	if d := cmp.Diff(got, want); d != "" {
		t.Error(d)
	}
}

// A rate whose interval is no whole number of nanoseconds must not drift.
func TestConstantDoesNotDrift(t *testing.T) {
	s := pace.Constant(30000)
	var last time.Duration
	for range 30000 * 60 {
		last, _ = s.Next()
	}
	if d := (last - time.Minute).Abs(); d > time.Microsecond {
		t.Errorf("request 1,800,000 of 30,000/s is due at %s: %s off", last, d)
	}
}

func TestPoissonHasTheRateAndTheSpreadOfExponentialGaps(t *testing.T) {
	const rate, n = 1000.0, 200_000
	s := pace.Poisson(rate, 7)
	var prev time.Duration
	var sum, squares float64
	for range n {
		at, _ := s.Next()
		gap := (at - prev).Seconds()
		if gap < 0 {
			t.Fatal("due times go back")
		}
		sum, squares, prev = sum+gap, squares+gap*gap, at
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean*rate-1) > 0.02 || math.Abs(deviation*rate-1) > 0.02 {
		t.Errorf("mean %g s and deviation %g s, want both near %g s", mean, deviation, 1/rate)
	}
}

func TestPoissonIsReproducible(t *testing.T) {
	if d := cmp.Diff(take(pace.Poisson(50, 3), 100), take(pace.Poisson(50, 3), 100)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(take(pace.Poisson(50, 3), 100), take(pace.Poisson(50, 4), 100)) {
		t.Error("another seed gave the same schedule")
	}
}

func TestIntervalsRepeatAndCountTheirRate(t *testing.T) {
	gaps, err := pace.ReadIntervals(strings.NewReader("30000\n10000\n40000\n20000\n25000\n"), "f", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := pace.MeanRate(gaps); got != 40 {
		t.Errorf("mean rate %d, want 40", got)
	}
	got := take(pace.Intervals(gaps), 6)
	ms := time.Millisecond
	if d := cmp.Diff(got, []time.Duration{30 * ms, 40 * ms, 80 * ms, 100 * ms, 125 * ms, 155 * ms}); d != "" {
		t.Error(d)
	}
}

func TestReadIntervalsNamesTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":           "file 'f' is empty",
		"10\nx\n":    `f:2: "x" is not a gap`,
		"10\n\n20\n": `f:2: "" is not a gap`,
		"-5\n":       `f:1: "-5" is not a gap`,
		"0\n0\n":     "all gaps are 0",
	} {
		_, err := pace.ReadIntervals(strings.NewReader(text), "f", false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestReadIntervalsLeniently(t *testing.T) {
	gaps, err := pace.ReadIntervals(strings.NewReader("10000.7\n+20000 us\n"), "f", true)
	if d := cmp.Diff(gaps, []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, text := range []string{"", "x\n", "\n", "+\n", "-5\n"} {
		if gaps, err := pace.ReadIntervals(strings.NewReader(text), "f", true); err == nil {
			t.Errorf("%q was read as %v", text, gaps)
		}
	}
}

func TestFixedEnds(t *testing.T) {
	want := []time.Duration{0, 3, 3, 9}
	s := pace.Fixed(want)
	if d := cmp.Diff(take(s, 4), want); d != "" {
		t.Error(d)
	}
	if _, ok := s.Next(); ok {
		t.Error("it goes on after its last time")
	}
}
