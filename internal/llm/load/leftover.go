package load

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/vitals"
)

// Collect counts what workers of a fleet have told of a level whose coordinator ended in the middle of it. leftover passes the records on, with
// what came with each; it is called twice. The outcome is nil if there are none.
func Collect(cfg Config, lv Level, leftover func(each func(rec *record.Record, data []byte)) error) (*Outcome, error) {
	r := &run{eng: past{}, pulse: vitals.StartPulse()}
	defer r.close()
	r.choose(&cfg, lv)
	p := newPhase(&cfg.Options, lv, false)
	r.ready(context.Background(), p)
	defer p.cancel()
	n := 0
	err := leftover(func(rec *record.Record, _ []byte) {
		if n++; n == 1 || rec.Sent < p.start {
			p.start = rec.Sent
		}
		p.ended = max(p.ended, rec.End)
	})
	if err != nil || n == 0 {
		return nil, err
	}
	p.measured, p.counted = p.start, p.lastCounted(0)
	r.begin(p, p.start)
	if err := leftover(func(rec *record.Record, data []byte) { r.receive(rec, nil, data) }); err != nil {
		return nil, err
	}
	if err := p.failure.Load(); err != nil {
		return nil, *err
	}
	if r.stop.text == "" {
		r.stop.text = "the coordinator ended during this level"
	}
	out := r.outcome()
	out.Interrupted = true
	return out, nil
}

// past is the requests of a load that is over.
type past struct{}

var _ requests = past{}

func (past) Sync(fn func())              { fn() }
func (past) Stop()                       {}
func (past) Wait(context.Context) error  { return nil }
func (past) InFlight() int               { return 0 }
func (past) Stalled() time.Duration      { return 0 }
func (past) Failed() <-chan struct{}     { return nil }
func (past) Failures() []engine.Failure  { return nil }
func (past) GivenUp() *engine.StallError { return nil }
func (past) Close() error                { return nil }
