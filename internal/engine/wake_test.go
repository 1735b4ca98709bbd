package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

var errBroken = errors.New("broken")

// pingPong is one of two slots that take turns: the end of one's call lets the other send.
type pingPong struct {
	e       func() *testEngine
	slot    int
	turn    *atomic.Int64 // whose turn it is; -1 when it is over
	left    *atomic.Int64
	answers *atomic.Int64
}

func (p *pingPong) Next(c *service.Call) { c.Req = uint32(0) }

func (p *pingPong) Pause() (time.Duration, bool) { return 0, p.turn.Load() == int64(p.slot) }

func (p *pingPong) Heard(c *service.Call, _ []record.Event, responses []byte) error {
	if string(responses) == "ok" && c.Rec.Class == record.OK {
		p.answers.Add(1)
	}
	c.Rec.Class = record.OK // it judges failures itself
	if p.left.Add(-1) == 0 {
		p.turn.Store(-1)
		return nil
	}
	p.turn.Store(int64(1 - p.slot))
	p.e().Wake(1 - p.slot)
	return nil
}

// playPingPong has two slots send so many calls in turns.
func playPingPong(t *testing.T, svc *testkit.Service, calls int64) (e *testEngine, answers *atomic.Int64) {
	t.Helper()
	var turn, left atomic.Int64
	left.Store(calls)
	answers = &atomic.Int64{}
	e = open(t, svc, engine.Config{
		Keep: true, Source: func(slot, _ int) engine.Source {
			return &pingPong{e: func() *testEngine { return e }, slot: slot, turn: &turn, left: &left, answers: answers}
		},
	})
	start(t, e, &engine.Closed{Concurrency: 2})
	finished(t, e)
	return e, answers
}

func TestAListenerSendsWhenItIsWoken(t *testing.T) {
	const calls = 2000
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
	e, answers := playPingPong(t, svc, calls)
	if n := len(records(e)); n != calls || svc.Sent() != calls || answers.Load() != calls {
		t.Errorf("%d records, %d sent, %d answers seen, want %d", n, svc.Sent(), answers.Load(), calls)
	}
	if most := svc.MostInFlight(); most != 1 {
		t.Errorf("%d in flight where the slots take turns", most)
	}
}

func TestAListenerMayJudgeItsFailures(t *testing.T) {
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, errBroken }}
	e, answers := playPingPong(t, svc, 3*engine.GiveUpAfter)
	if svc.Sent() != 3*engine.GiveUpAfter || answers.Load() != 0 || len(e.Failures()) != 0 {
		t.Errorf("%d sent, %d good answers, failures %v; want %d and none", svc.Sent(), answers.Load(), e.Failures(), 3*engine.GiveUpAfter)
	}
}
