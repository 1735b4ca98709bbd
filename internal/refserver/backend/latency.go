package backend

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/tempo"
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
	draw, err := tempo.Distribution(par.text("delay_distribution", "constant"), par.millis("delay_stddev_ms", 0),
		rand.New(rand.NewPCG(env.Seed, uint64(par.integer("delay_seed", 0)))))
	l.draw = draw
	return l, err
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
	_ = l.clock.Until(ctx, start.Add(d)) // at shutdown the jobs end at once
}
