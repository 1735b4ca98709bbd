package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/service"
)

// ErrEarlyEnd means that a request ended before it had as many responses as the period asks for.
var ErrEarlyEnd = errors.New("a request ended before the request period was reached: " +
	"the period must be at most the number of responses that each request gets")

// Periodic raises the number of requests in flight step by step: each slot sends one streamed request.
type Periodic struct {
	Start, End, Step int
	// Period is how many responses each request of the last step must have had before the next step begins.
	Period int

	e       *Engine
	reached atomic.Int64 // requests that have had Period responses
	err     error
}

// Err is why the load ended before its last request had Period responses. It is nil if failed requests ended it. Err may be
// called when the load has ended.
func (p *Periodic) Err() error { return p.err }

func (p *Periodic) prepare(ctx context.Context, e *Engine) error {
	p.e = e
	return e.grow(ctx, min(p.Start, p.End))
}

func (p *Periodic) begin(ctx context.Context) {
	p.e.spawn(func() { p.err = p.run(ctx) })
}

func (p *Periodic) ended(s *slot, stop bool) {
	if stop {
		p.e.park(s)
		return
	}
	p.e.closeOrPark(s)
}

// run starts one step after the other and returns when the last request has ended.
func (p *Periodic) run(ctx context.Context) error {
	begun := 0
	for next := p.Start; begun < p.End; next = p.Step {
		n := min(begun+next, p.End)
		if err := p.e.grow(ctx, n); err != nil {
			return err
		}
		for _, s := range p.e.snapshot()[begun:n] {
			p.launch(s, n)
		}
		p.e.tr.Flush()
		begun = n
		for begun < p.End && p.reached.Load() < int64(begun) {
			if done, err := p.state(ctx, begun); done || err != nil {
				return err
			}
		}
	}
	for {
		if done, err := p.state(ctx, begun); done || err != nil {
			return err
		}
	}
}

// state waits a moment and tells whether the load is over.
func (p *Periodic) state(ctx context.Context, begun int) (done bool, err error) {
	switch {
	case p.e.calledOff(): // the failures tell why
		return true, nil
	case p.e.active.Load() > 0 && begun == p.End:
		return false, p.e.sleep(ctx, drainPollInterval)
	case p.e.active.Load() > 0:
		return false, p.e.sleep(ctx, slotPollInterval)
	case p.reached.Load() < int64(begun):
		return true, ErrEarlyEnd
	}
	return begun == p.End, nil
}

// launch sends the one request of a slot.
func (p *Periodic) launch(s *slot, n int) {
	p.e.active.Add(1)
	s.use(p.e.makeSource(s.call.Slot, n), s.call.Slot)
	s.watcher = &responseCount{loop: p}
	now := clock.Now()
	p.e.send(s, now, now, 0)
}

// responseCount counts the responses of one request.
type responseCount struct {
	loop *Periodic
	n    int
}

// Watch implements Watcher.
func (r *responseCount) Watch(*service.Call, []byte, int64) {
	if r.n++; r.n == r.loop.Period {
		r.loop.reached.Add(1)
		r.loop.e.notify()
	}
}
