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

// chat is a listener of so many turns with a pause between them.
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

func openTalks(t *testing.T, talks []*chat, stopOnFailure bool) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Config{
		Service: &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}, Keep: true, StopOnFailure: stopOnFailure,
		Feed: func(slot, _ int) engine.Feed { return talks[slot] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestAListenerTakesItsTurnsWithPauses(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		talks := []*chat{{turns: 3, pause: 10 * time.Millisecond}, {turns: 5}, {turns: 1, pause: time.Hour}}
		e := openTalks(t, talks, false)
		if err := e.Closed(t.Context(), len(talks), 0); err != nil {
			t.Fatal(err)
		}
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
	if err := e.Closed(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
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
		if err := e.Closed(t.Context(), 2, 0); err != nil {
			t.Fatal(err)
		}
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
	e, err := engine.Open(t.Context(), engine.Config{
		Service: &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}, Keep: true,
		Feed: func(int, int) engine.Feed { return o },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Closed(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	finished(t, e)
	if o.seen != 4 || o.early != 4 {
		t.Errorf("%d responses seen, %d of them in time", o.seen, o.early)
	}
}

func TestCutEndsOneRequest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		talks := []*chat{{turns: 2}}
		e, err := engine.Open(t.Context(), engine.Config{
			Service: &testkit.Service{Answer: func(n int64) (time.Duration, error) {
				if n == 0 {
					return time.Hour, nil
				}
				return 0, nil
			}}, Keep: true,
			Feed: func(slot, _ int) engine.Feed { return talks[slot] },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if err := e.Closed(t.Context(), 1, 0); err != nil {
			t.Fatal(err)
		}
		e.Cut(0, record.Canceled)
		finished(t, e)
		rs := records(e)
		if len(rs) != 2 || rs[0].Class != record.Canceled || rs[1].Class != record.OK || len(e.Failures()) != 0 {
			t.Errorf("%+v", rs)
		}
	})
}
