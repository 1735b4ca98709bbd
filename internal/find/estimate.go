package find

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// How long single requests are sent for the first guess.
const (
	estimateTime     = time.Second
	estimateRequests = 5
	estimateMost     = time.Minute
	estimateShare    = 15 // of a budget; a single request is enough then
)

// Send sends the load of a level until watch ends it.
type Send func(ctx context.Context, lv result.Level, first measure.Look, watch measure.Watch) error

// Estimate is the latency of single requests, sent one after the other. Its inverse is a first guess of a rate. A budget, if it is not 0,
// bounds the time.
func Estimate(ctx context.Context, budget time.Duration, send Send) (time.Duration, error) {
	var median time.Duration
	var down string
	most := estimateMost
	if budget > 0 {
		most = min(most, budget)
	}
	watch := func(sight measure.Sight) (measure.Look, bool) {
		median, down = sight.Median, sight.Down
		enough := sight.Elapsed >= estimateTime && sight.Requests >= estimateRequests || sight.Elapsed >= most/estimateShare && sight.Requests > 0
		return measure.Look{At: sight.Elapsed + estimateTime/4}, !enough && down == "" && sight.Elapsed < most
	}
	err := send(ctx, result.Level{Mode: plan.Concurrency, Concurrency: 1}, measure.Look{At: estimateTime}, watch)
	switch {
	case err != nil:
		return 0, err
	case down != "":
		return 0, errors.New(down)
	case median <= 0:
		return 0, fmt.Errorf("no request succeeded within %v; check the server and the model with 'redline inspect'", most)
	}
	return median, nil
}
