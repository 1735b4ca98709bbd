package pace_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/law"
)

func TestParseThinkTime(t *testing.T) {
	f := func(text string, mean, spread time.Duration, fault string) {
		t.Helper()
		got, err := pace.ParseThinkTime(text)
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: %v, want %q", text, err, fault)
			}
			return
		}
		if want := (pace.ThinkTime{Mean: mean, Spread: spread}); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	f("100ms", 100*time.Millisecond, 0, "")
	f("1s±250ms", time.Second, 250*time.Millisecond, "")
	f("1s+-1s", time.Second, time.Second, "")
	f("1.5ms ± 500us", 1500*time.Microsecond, 500*time.Microsecond, "")
	f("0", 0, 0, "")
	f("1.5±0.5", 1500*time.Millisecond, 500*time.Millisecond, "")
	f("24h±24h", 24*time.Hour, 24*time.Hour, "")
	for _, text := range []string{"", "100000", "±1s", "1s±", "-1s", "1s±-1s", "25h", "1s±1s±1s", "1s±1s+-1s"} {
		f(text, 0, 0, "is a time of at most 24h")
	}
	f("1s±2s", 0, 0, "has a spread that is longer than the time itself: '1s±2s'")
}

// Think times are uniform in mean ± spread and do not depend on each other; those of two slots, or of two seeds, neither.
func TestThinkTimeLaw(t *testing.T) {
	draw := func(next func() time.Duration, think pace.ThinkTime) []float64 {
		out := make([]float64, 20_000)
		for i := range out {
			out[i] = (next() - think.Mean + think.Spread).Seconds() / (2 * think.Spread).Seconds()
		}
		return out
	}
	testkit.Rounds(t, 20, func(t *testing.T, rng *rand.Rand) {
		mean := time.Duration(math.Exp(rng.Float64()*20) * 1e4) // 10 µs to an hour
		think := pace.ThinkTime{Mean: mean, Spread: 1 + mean/time.Duration(1+rng.IntN(4))}
		think.Spread = min(think.Spread, mean)
		seed, slot := rng.Uint64(), rng.IntN(1000)
		x := draw(think.Slot(seed, slot), think)
		law.Fits(t, "think times", x, law.Uniform)
		law.Independent(t, "think times", x)
		for what, other := range map[string][]float64{
			"two slots": draw(think.Slot(seed, slot+1), think), "two seeds": draw(think.Slot(seed+1, slot), think),
		} {
			if c := law.Correlation(x, other); math.Abs(c) > law.Near(len(x)) {
				t.Errorf("the think times of %s have a correlation of %g", what, c)
			}
		}
		again := draw(think.Slot(seed, slot), think)
		for i := range x {
			if x[i] != again[i] {
				t.Fatal("the same seed gave other times")
			}
		}
	})
	exact := pace.ThinkTime{Mean: time.Second}.Slot(1, 2)
	for range 2 {
		if d := exact(); d != time.Second {
			t.Errorf("without a spread, a think time of a second is %s", d)
		}
	}
	if (pace.ThinkTime{}).Slot(1, 2) != nil {
		t.Error("without a think time, slots wait")
	}
}
