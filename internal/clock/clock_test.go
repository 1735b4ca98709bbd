package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/testkit"
)

func TestSleepUntilNeverWakesEarly(t *testing.T) {
	for _, d := range []time.Duration{0, 10 * time.Microsecond, 500 * time.Microsecond, 3 * time.Millisecond} {
		due := clock.Now() + int64(d)
		if !clock.SleepUntil(t.Context(), due) {
			t.Fatal("woken by nobody")
		}
		if now := clock.Now(); now < due {
			t.Errorf("%s: woke %d ns early", d, due-now)
		}
	}
}

// Tests of other packages run in simulated time, where a kernel sleep passes no time.
func TestSleepUntilFollowsSimulatedTime(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		for _, d := range []time.Duration{10 * time.Microsecond, 2 * time.Millisecond, time.Hour} {
			due := clock.Now() + int64(d)
			if !clock.SleepUntil(t.Context(), due) || clock.Now() != due {
				t.Errorf("%s: woke %d ns late", d, clock.Now()-due)
			}
		}
	})
}

func TestSleepUntilEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if clock.SleepUntil(ctx, clock.Now()+int64(time.Hour)) {
		t.Error("slept on after its context had ended")
	}
}

func TestWallAndMonotonicAgree(t *testing.T) {
	if d := time.Duration(clock.Wall(clock.Now()) - time.Now().UnixNano()).Abs(); d > time.Second {
		t.Errorf("the two clocks are %s apart", d)
	}
}

func TestEveryEndsWithItsContext(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var at []time.Duration
		began := time.Now()
		clock.Every(ctx, time.Second, func() { at = append(at, time.Since(began)) })
		if len(at) != 3 || at[0] != time.Second || at[2] != 3*time.Second {
			t.Error(at)
		}
	})
}
