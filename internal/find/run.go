package find

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Runner sends loads to a server.
type Runner interface {
	// Run sends a load and calls watch for each look, until watch returns false or ctx ends. It returns when no request is
	// in flight any more; those that go on for longer than drain are canceled. A server that stops answering is no error, see
	// measure.Sight.Down.
	Run(ctx context.Context, load float64, drain time.Duration, first measure.Look, watch measure.Watch) error
}

// errEnded means that a Runner ended a load that the search had not ended.
var errEnded = errors.New("the load ended by itself before the search had an answer")

// Run drives the search over a runner until it is finished. show is called after each observation with what was seen; it may
// be nil. When ctx ends, or the runner fails, the search is stopped: Answer then has all probes so far.
func (s *Search) Run(ctx context.Context, r Runner, show func(measure.Sight)) error {
	began := clock.Now()
	for s.step.Do != Finish {
		d := driver{Search: s, step: s.step, began: began, show: show}
		err := r.Run(ctx, d.step.Load, d.step.Drain, d.look(d.step), d.watch)
		switch {
		case ctx.Err() != nil:
			s.Stop(Interrupted, "interrupted")
			return ctx.Err()
		case err == nil && s.running(d.step):
			err = errEnded
		}
		if err != nil {
			s.Stop(Failed, err.Error())
			return err
		}
		if s.step.Do == Drain { // Runner.Run has waited for the requests in flight
			now := d.now()
			s.Observe(Observation{Now: now, Elapsed: now - d.ended})
		}
	}
	return nil
}

// running tells whether the load of a step has not ended.
func (s *Search) running(step Step) bool { return s.step.Do == step.Do && s.step.Probe == step.Probe }

// driver turns what is seen of one load into observations.
type driver struct {
	*Search
	step     Step
	began    int64         // the search, by the clock
	ended    time.Duration // time of the search at the last look
	readings []Reading     // of the last look with figures
	show     func(measure.Sight)
	good     struct { // when the last request succeeded, as far as looks tell
		at                 time.Duration
		requests, failures int
	}
}

func (d *driver) now() time.Duration { return time.Duration(clock.Now() - d.began) }

// look is the next look that a step asks for.
func (d *driver) look(step Step) measure.Look {
	if step.Do == Check {
		return measure.Look{At: step.At, Anew: true}
	}
	return measure.Look{At: step.At, Settle: step.Settle}
}

func (d *driver) watch(sight measure.Sight) (measure.Look, bool) {
	now := d.Search.step
	d.ended = d.now()
	o := Observation{
		Now: d.ended, Elapsed: sight.Elapsed, Requests: sight.Requests, Failures: sight.Failures, Backlog: sight.Backlog,
		Down: sight.Down, Readings: d.readings,
	}
	if o.Down == "" && d.onlyFailures(sight) {
		d.addFailure(&o, sight)
	}
	if now.Do == Check || o.Elapsed >= now.Look || o.Down+o.Rejects != "" || d.Overloaded(o) {
		d.addFigures(&o, sight)
	}
	next := d.Observe(o)
	if d.show != nil {
		d.show(sight)
	}
	return d.look(next), d.running(d.step)
}

// leastFailures is how many requests must fail, and none succeed, before a server counts as down.
const leastFailures = 3

// onlyFailures tells whether requests have only failed for a while.
func (d *driver) onlyFailures(sight measure.Sight) bool {
	if sight.Requests > d.good.requests {
		d.good.at, d.good.requests, d.good.failures = sight.Elapsed, sight.Requests, sight.Failures
	}
	return sight.Failures-d.good.failures >= leastFailures && sight.Elapsed-d.good.at >= max(d.conf.Settle, time.Second)
}

// addFailure says how requests fail. A server that answers them is not down.
func (d *driver) addFailure(o *Observation, sight measure.Sight) {
	text := fmt.Sprintf("no request succeeded for %v", (sight.Elapsed - d.good.at).Round(100*time.Millisecond))
	lv, _ := sight.Level(0)
	most := mainFailure(lv)
	if most == nil {
		o.Down = text
		return
	}
	text += ": " + most.Text
	if strings.HasPrefix(most.Class, record.Server.String()) {
		o.Rejects = text
	} else {
		o.Down = text
	}
}

// addFigures computes the figures of an observation.
func (d *driver) addFigures(o *Observation, sight measure.Sight) {
	lv, reasons := sight.Level(Level)
	o.Level, o.Readings = lv, Readings(lv, d.objectives)
	d.readings = o.Readings
	if o.Down+o.Rejects == "" && d.Search.step.Do == Run {
		o.ClientLimit = d.clientLimit(o, reasons)
	}
}

// clientLimit says why the client, not the server, decides the running probe; empty where the server does.
//
// A load that the client did not send decides nothing. A load that was sent and holds its objectives holds them in spite of
// the client, because latencies count from the due times. Where an objective fails, the client may be the cause.
func (s *Search) clientLimit(o *Observation, reasons []result.Reason) string {
	if len(reasons) == 0 {
		return ""
	}
	p := s.probes[len(s.probes)-1]
	now := &Probe{Load: p.Load, Last: *o, measured: max(0, o.Elapsed-s.step.Settle)}
	if _, failed := s.judgeFailures(now, p.Tier); failed {
		return "" // while a server is away, a client cannot keep its load
	}
	h := &o.Level.Health
	if h.AchievedRate < minSent*h.AskedRate || h.AchievedInFlight < minInFlight*h.AskedInFlight {
		return reasons[0].What
	}
	if j := s.judgeObjectives(now, p.Tier); j.Verdict != Fails && !s.Overloaded(*o) {
		return ""
	}
	if s.mostFail(o.Level, p.Tier) {
		return ""
	}
	for _, r := range reasons {
		if !r.Late || !s.failsWithout(now, p.Tier, float64(h.LagP99Ns)/1e6) {
			return r.What
		}
	}
	return ""
}

const (
	// minSent and minInFlight are the shares of a load that the client must have sent, or kept in flight.
	minSent     = 0.99
	minInFlight = 0.9
)

// mostFail tells whether half of the requests, from their send times, take longer than a latency objective allows: no short
// disturbance of the client is the cause.
func (s *Search) mostFail(lv *result.Level, tier int) bool {
	for _, i := range s.tiers[tier] {
		rule := &s.objectives[i]
		if rule.Op[0] == '<' && wholeLatency(rule.Name) && float64(lv.Part(rule.Class).Client.Sent.At(50))/1e6 > rule.Limit() {
			return true
		}
	}
	return false
}

// failsWithout tells whether a latency objective fails by more than the send lag, in milliseconds.
func (s *Search) failsWithout(p *Probe, tier int, lag float64) bool {
	for _, i := range s.tiers[tier] {
		rule := &s.objectives[i]
		if r, ok := p.reading(i); ok && r.Unit == "ms" && rule.Op[0] == '<' && r.Value-lag > rule.Limit() {
			return true
		}
	}
	return false
}
