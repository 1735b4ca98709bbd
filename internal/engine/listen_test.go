package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// chat is a Listener of so many turns with a pause between them.
type chat struct {
	turns, said int
	pause       time.Duration
	heard       []string
	bad         int // the turn whose answer is not understood; from 1
}

var errGibberish = errors.New("what?")

func (c *chat) Next(call *service.Call) {
	c.said++
	call.Req = uint32(0)
}

func (c *chat) Heard(call *service.Call, events []record.Event, responses []byte) error {
	if call.Rec.Class == record.OK && len(events) == 1 {
		c.heard = append(c.heard, string(responses))
	}
	if c.said == c.bad {
		return errGibberish
	}
	return nil
}

func (c *chat) Pause() (time.Duration, bool) {
	if c.said == 0 {
		return 0, true
	}
	return c.pause, c.said < c.turns
}

func openTalks(t *testing.T, talks []*chat, stopOnFailure bool) *testEngine {
	t.Helper()
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
	return open(t, svc, engine.Config{Keep: true, StopOnFailure: stopOnFailure, Source: func(slot, _ int) engine.Source { return talks[slot] }})
}

func TestAListenerTakesItsTurnsWithPauses(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		talks := []*chat{{turns: 3, pause: 10 * time.Millisecond}, {turns: 5}, {turns: 1, pause: time.Hour}}
		e := openTalks(t, talks, false)
		start(t, e, &engine.Closed{Concurrency: len(talks)})
		finished(t, e)
		perSlot := map[uint32][]record.Record{}
		for _, r := range records(e) {
			perSlot[r.Slot] = append(perSlot[r.Slot], r)
		}
		total := 0
		for _, c := range talks {
			total += c.turns
			if c.said != c.turns || len(c.heard) != c.turns || c.heard[0] != "ok" {
				t.Errorf("%+v", c)
			}
		}
		all := 0
		for _, rs := range perSlot {
			all += len(rs)
		}
		if all != total {
			t.Errorf("%d records of %d turns", all, total)
		}
	})
}

func TestAnAnswerThatAListenerRefusesIsAFailure(t *testing.T) {
	talks := []*chat{{turns: 9, bad: 2}}
	e := openTalks(t, talks, true)
	start(t, e, &engine.Closed{Concurrency: 1})
	finished(t, e)
	if f := e.Failures(); len(f) != 1 || !errors.Is(f[0].Err, errGibberish) || talks[0].said != 2 {
		t.Errorf("%+v after %d turns", f, talks[0].said)
	}
	select {
	case <-e.Failed():
	default:
		t.Error("the failure did not call for the end")
	}
}

// A load that is stopped does not wait for pauses to end.
func TestStopEndsPauses(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		talks := []*chat{{turns: 2, pause: time.Hour}, {turns: 2, pause: time.Hour}}
		e := openTalks(t, talks, false)
		start(t, e, &engine.Closed{Concurrency: 2})
		synctest.Wait()
		if n := len(records(e)); n != 2 || e.InFlight() != 0 || !e.Working() {
			t.Fatalf("%d requests have ended and %d are in flight, want 2 slots that pause", n, e.InFlight())
		}
		e.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Wait(ctx); err != nil || e.InFlight() != 0 {
			t.Errorf("%v, %d in flight", err, e.InFlight())
		}
	})
}

// onlooker counts the responses that it sees before their call has ended.
type onlooker struct {
	chat
	seen, early int
}

func (o *onlooker) Watch(*service.Call, []byte, int64) {
	if o.seen++; len(o.heard) < o.seen {
		o.early++
	}
}

func TestAWatcherSeesResponsesBeforeTheirEnd(t *testing.T) {
	o := &onlooker{chat: chat{turns: 4}}
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
	e := open(t, svc, engine.Config{Keep: true, Source: func(int, int) engine.Source { return o }})
	start(t, e, &engine.Closed{Concurrency: 1})
	finished(t, e)
	if o.seen != 4 || o.early != 4 {
		t.Errorf("%d responses seen, %d of them in time", o.seen, o.early)
	}
}

func TestCutEndsOneRequest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		talks := []*chat{{turns: 2}}
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n == 0 {
				return time.Hour, nil
			}
			return 0, nil
		}}
		e := open(t, svc, engine.Config{Keep: true, Source: func(slot, _ int) engine.Source { return talks[slot] }})
		start(t, e, &engine.Closed{Concurrency: 1})
		if e.Cut(0, 2, record.Canceled) || !e.Cut(0, 1, record.Canceled) {
			t.Error("the request in flight is the first of its slot")
		}
		finished(t, e)
		if e.Cut(0, 2, record.Canceled) {
			t.Error("a request that has ended is in flight")
		}
		rs := records(e)
		if len(rs) != 2 || rs[0].Class != record.Canceled || rs[1].Class != record.OK || len(e.Failures()) != 0 {
			t.Errorf("%+v", rs)
		}
	})
}
