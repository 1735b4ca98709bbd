package backend

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// latency is a scripted execution time. The parameters of a model set it; docs/refserver.md lists them.
type latency struct {
	clock     *pause.Clock
	mean      time.Duration
	perItem   time.Duration
	freeItems int
	draw      func(mean time.Duration) time.Duration
	crowd     float64 // share by which the instances of the model slow each other down
	gapless   bool
	free      time.Time // when the last execution was to end
	drift     float64
	fades     time.Duration // time constant of the drift
	began     time.Time
}

func newLatency(par params, env Env) (latency, error) {
	l := latency{
		clock:     env.Clock,
		mean:      par.millis("execute_delay_ms", 0) + par.millis("sleep_ms", 0),
		perItem:   par.millis("per_item_ms", 0),
		freeItems: par.integer("free_items", 0),
		crowd:     par.number("crowd_share", 0) * float64(max(0, env.Instances-par.integer("crowd_above", env.Instances))),
		gapless:   par.text("gapless", "") == "true",
		drift:     par.number("drift_share", 0), fades: par.millis("drift_ms", 60_000), began: time.Now(),
	}
	draw, err := pause.Distribution(par.text("delay_distribution", "constant"), par.millis("delay_stddev_ms", 0),
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
	d := l.length(items)
	if l.drift != 0 {
		d = time.Duration(float64(d) * (1 + l.drift*math.Exp(-start.Sub(l.began).Seconds()/l.fades.Seconds())))
	}
	if l.gapless {
		start = l.begin(jobs)
	}
	l.free = start.Add(d)
	_ = l.clock.Until(ctx, l.free) // at shutdown the jobs end at once
}

// length is the time of an execution of so many elements.
func (l *latency) length(items int) time.Duration {
	d := l.draw(l.mean) + time.Duration(max(0, items-l.freeItems))*l.perItem
	return time.Duration(float64(d) * (1 + l.crowd))
}

// begin is when a server that never wakes late begins an execution: when the execution before it was to end, or when the last of its
// requests was received.
func (l *latency) begin(jobs []*Job) time.Time {
	start := l.free
	for _, j := range jobs {
		if j.Received.After(start) {
			start = j.Received
		}
	}
	return start
}
