package sums

import "context"

// SwapAnswers exchanges the answers to two requests. Each waits for the other, so both are under way.
func SwapAnswers(a, b At) Faults {
	ofA, ofB := make(chan int32, 1), make(chan int32, 1)
	exchange := func(ctx context.Context, sum int32, give chan<- int32, take <-chan int32) int32 {
		give <- sum
		select {
		case other := <-take:
			return other
		case <-ctx.Done():
			return sum
		}
	}
	return Faults{Answer: func(ctx context.Context, r Request, sum int32) int32 {
		switch r.At {
		case a:
			return exchange(ctx, sum, ofA, ofB)
		case b:
			return exchange(ctx, sum, ofB, ofA)
		}
		return sum
	}}
}

// SwapSums exchanges the sums of two sequences before two requests, which wait for each other.
func SwapSums(a, b At) Faults {
	here, swapped := make(chan struct{}), make(chan struct{})
	return Faults{Before: func(ctx context.Context, s *Server, r Request) {
		switch r.At {
		case a:
			close(here)
			wait(ctx, swapped)
		case b:
			wait(ctx, here)
			s.mu.Lock()
			s.sums[a.ID], s.sums[b.ID] = s.sums[b.ID], s.sums[a.ID]
			s.mu.Unlock()
			close(swapped)
		}
	}}
}

// StaleAnswer answers a request with the sum that another has got before.
func StaleAnswer(of, to At) Faults {
	stale := make(chan int32, 1)
	return Faults{Answer: func(_ context.Context, r Request, sum int32) int32 {
		switch r.At {
		case of:
			stale <- sum
		case to:
			return <-stale
		}
		return sum
	}}
}

// Hold is a Faults.Before: a request waits until another has come.
func Hold(request, until At) func(context.Context, *Server, Request) {
	come := make(chan struct{})
	return func(ctx context.Context, _ *Server, r Request) {
		switch r.At {
		case request:
			wait(ctx, come)
		case until:
			close(come)
		}
	}
}

// wait returns when a channel is closed or ctx ends.
func wait(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}
