package backend

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// latency is a scripted execution time. The parameters of a model set it:
//
//	execute_delay_ms, sleep_ms   the mean, in milliseconds
//	per_item_ms                  added for each element of the batch
//	delay_distribution           constant (default), normal or lognormal
//	delay_stddev_ms              the spread of the last two
//	delay_seed                   makes them repeat
type latency struct {
	clock   *pause.Clock
	mean    time.Duration
	perItem time.Duration
	draw    func(mean time.Duration) time.Duration
}

func newLatency(par params, env Env) (latency, error) {
	l := latency{
		clock:   env.Clock,
		mean:    par.millis("execute_delay_ms", 0) + par.millis("sleep_ms", 0),
		perItem: par.millis("per_item_ms", 0),
	}
	draw, err := distribution(par.text("delay_distribution", "constant"), par.millis("delay_stddev_ms", 0),
		rand.New(rand.NewPCG(env.Seed, uint64(par.integer("delay_seed", 0)))))
	l.draw = draw
	return l, err
}

// distribution makes a source of durations around a mean. It is not for several goroutines.
func distribution(kind string, dev time.Duration, rnd *rand.Rand) (func(time.Duration) time.Duration, error) {
	switch kind {
	case "", "constant":
		return func(mean time.Duration) time.Duration { return mean }, nil
	case "normal":
		return func(mean time.Duration) time.Duration {
			return max(0, mean+time.Duration(rnd.NormFloat64()*float64(dev)))
		}, nil
	case "lognormal":
		return func(mean time.Duration) time.Duration {
			if mean <= 0 {
				return 0
			}
			// The log's parameters that give the asked-for mean and deviation.
			variance := math.Log1p(float64(dev) * float64(dev) / (float64(mean) * float64(mean)))
			mu := math.Log(float64(mean)) - variance/2
			return time.Duration(math.Exp(mu + math.Sqrt(variance)*rnd.NormFloat64()))
		}, nil
	}
	return nil, fmt.Errorf("unknown distribution %q; use constant, normal or lognormal", kind)
}

// spend waits as long as an execution of the batch takes.
func (l *latency) spend(ctx context.Context, start time.Time, jobs []*Job) {
	if l.mean <= 0 && l.perItem <= 0 {
		return
	}
	items := 0
	for _, j := range jobs {
		items += max(j.Batch, 1)
	}
	d := l.draw(l.mean) + time.Duration(items)*l.perItem
	_ = l.clock.Until(ctx, start.Add(d)) // at shutdown the jobs are answered at once
}
