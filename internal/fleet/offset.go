package fleet

import (
	"context"
	"time"
)

// offset is how far another clock is ahead of ours. The true value differs by at most Error.
type offset struct {
	Ahead, Error int64
	Wall         time.Duration // how far its wall clock is ahead
}

// exchanges is how often a clock is asked: the exchange with the shortest delay counts.
const exchanges = 8

// estimate asks another clock several times. An exchange that left at a and came back at b while the other clock showed t says
// that this clock is ahead by t − (a+b)/2, with an error of at most (b−a)/2: the two ways may take different times, but neither
// takes less than none. So the exchange with the smallest b−a has the smallest bound.
func estimate(ctx context.Context, ask func(context.Context) (now, wall int64, err error), clock func() (now, wall int64)) (offset, error) {
	var best offset
	for i := range exchanges {
		a, _ := clock()
		now, theirs, err := ask(ctx)
		if err != nil {
			return best, err
		}
		b, ours := clock()
		if half := (b - a) / 2; i == 0 || half < best.Error {
			best = offset{Ahead: now - (a + half), Error: max(1, half), Wall: time.Duration(theirs - ours)}
		}
	}
	return best, nil
}
