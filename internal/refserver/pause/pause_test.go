package pause

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/testkit"
)

func TestWaitsAreNeverShort(t *testing.T) {
	c := New()
	defer c.Close()
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			d := time.Duration(20-i) * 200 * time.Microsecond
			start := time.Now()
			if err := c.For(t.Context(), d); err != nil {
				t.Errorf("For(%v): %v", d, err)
			}
			if took := time.Since(start); took < d {
				t.Errorf("For(%v) took only %v", d, took)
			}
		})
	}
	wg.Wait()
}

func TestCallsComeInOrderOfDueTime(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		c := NewByTimers()
		defer c.Close()
		base := time.Now()
		var got []string
		for _, after := range []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond} {
			c.At(base.Add(after), func() { got = append(got, time.Since(base).String()) })
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"1ms", "2ms", "3ms"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEndedContextEndsWait(t *testing.T) {
	c := New()
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.For(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want canceled", err)
	}
}

func TestCloseCallsTheRest(t *testing.T) {
	c := New()
	called := make(chan struct{})
	c.At(time.Now().Add(time.Hour), func() { close(called) })
	c.Close()
	<-called
	late := false
	c.At(time.Now().Add(time.Hour), func() { late = true })
	if !late {
		t.Error("a call on a closed clock was not made at once")
	}
}
