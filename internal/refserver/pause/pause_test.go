package pause

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
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
	c := New()
	defer c.Close()
	base := time.Now().Add(5 * time.Millisecond)
	got := make(chan int, 3)
	for _, n := range []int{2, 0, 1} {
		c.At(base.Add(time.Duration(n)*time.Millisecond), func() { got <- n })
	}
	for want := range 3 {
		if n := <-got; n != want {
			t.Fatalf("call %d came where %d was due", n, want)
		}
	}
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
