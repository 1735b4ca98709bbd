package load

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

var (
	_ engine.Listener = (*line)(nil)
	_ engine.Watcher  = (*watched)(nil)
	_ engine.Listener = (*job)(nil)
	_ engine.Watcher  = (*job)(nil)
)

// line is what the load knows of one slot of the engine: what the slot sends next, what it has in flight, and what it has
// sent that the collector has not read yet. In a closed loop it is the source of the slot's requests.
type line struct {
	r    *run
	slot int

	mu     sync.Mutex
	job    *job // the next request, in a closed loop
	flying *job
	asks   []*ask // sent and not collected, oldest first
	timer  *time.Timer
	answer endpoint.Answer
	seen   endpoint.Answer      // the part of the answer in flight that Watch has read
	think  func() time.Duration // draws the think times of phase thinks; nil is none
	thinks *phase
}

// thinkTime draws the next think time. Each phase draws from the beginning.
func (l *line) thinkTime(p *phase) time.Duration {
	if o := &l.r.cfg.Options; l.thinks != p {
		l.think, l.thinks = o.ThinkTime.Slot(o.Seed, l.slot), p
	}
	if l.think == nil {
		return 0
	}
	return l.think()
}

// Pause implements engine.Listener. The slot of a job that must wait is parked, and a timer wakes it.
func (l *line) Pause() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.r.now.Load()
	if l.job == nil {
		l.job = l.r.follow(l, nil, p, 0)
	}
	j := l.job
	switch {
	case j == nil:
		return 0, false
	case p.over.Load() && (j.from > clock.Now() || !j.in && l.r.gate != nil):
		l.job = nil // the phase ended while the job waited
		p.started.Add(-1)
		p.drop()
		return 0, false
	}
	if wait := j.from - clock.Now(); wait > 0 {
		if !j.held {
			j.held = true
			time.AfterFunc(time.Duration(wait), func() { l.r.eng.Wake(l.slot) })
		}
		return 0, false
	}
	if !j.in && !l.r.gate.enter(l.slot) {
		return 0, false
	}
	j.in = true
	return 0, true
}

// Next implements engine.Source.
func (l *line) Next(c *service.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job
	l.job = nil
	l.send(j, c)
}

// send fills in the request of a job. The lock is held.
func (l *line) send(j *job, c *service.Call) {
	j.line, l.flying = l, j
	l.asks = append(l.asks, j.ask)
	l.seen.Reset()
	c.Req = j.req
	c.Vars = service.Vars{}
	if d, ok := l.r.cutAfter(j); ok {
		sequence := c.Sequence
		l.timer = time.AfterFunc(d, func() { l.cutUntilEnded(j, sequence, firstCutAgain) })
	}
}

// cut cancels the request of a job, and tells whether the request is still in flight.
func (l *line) cut(j *job, sequence uint64) bool {
	l.mu.Lock()
	flying := l.flying == j
	if flying {
		j.ask.cut = true
	}
	l.mu.Unlock()
	return flying && l.r.eng.Cut(l.slot, sequence, record.Canceled)
}

// The times between two attempts to cut one request.
const (
	firstCutAgain = 200 * time.Microsecond
	mostCutAgain  = 10 * time.Millisecond
)

// cutUntilEnded cuts a request until it has ended: after a delay of 0 the transport may not have the request yet.
func (l *line) cutUntilEnded(j *job, sequence uint64, again time.Duration) {
	if l.cut(j, sequence) {
		time.AfterFunc(again, func() { l.cutUntilEnded(j, sequence, min(2*again, mostCutAgain)) })
	}
}

// Heard implements engine.Listener.
func (l *line) Heard(c *service.Call, events []record.Event, responses []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.flying
	l.flying = nil
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if j.in {
		l.r.gate.leave()
	}
	p := j.ask.phase
	var refused error
	t := j.talk
	if t.next < len(t.conv.Turns) {
		if c.Rec.Class == record.OK {
			refused = endpoint.Read(l.r.cfg.Endpoint, &l.answer, events, responses)
		}
		if c.Rec.Class != record.OK || refused != nil {
			l.r.dropped.Add(uint64(len(t.conv.Turns) - t.next))
			t = nil
		} else {
			t.answers = append(t.answers, string(l.answer.Text))
		}
	} else {
		t = nil
	}
	if j.ask.err = c.Err; c.Err == nil {
		j.ask.err = refused
	}
	if p.lv.Open() {
		l.r.queueTurn(t, p, j.due, c.Rec.End)
	} else if l.job == nil {
		l.job = l.r.follow(l, t, p, c.Rec.End)
	}
	p.drop()
	return refused
}

// pop takes the oldest request that was sent.
func (l *line) pop() *ask {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.asks) == 0 {
		return nil
	}
	a := l.asks[0]
	l.asks = append(l.asks[:0], l.asks[1:]...)
	return a
}

// watched is a line of a closed loop that looks at answers as they come.
type watched struct{ *line }

// Watch implements engine.Watcher.
func (w *watched) Watch(c *service.Call, response []byte, at int64) {
	w.mu.Lock()
	j := w.flying
	w.mu.Unlock()
	if j != nil {
		j.Watch(c, response, at)
	}
}

// A job is the source of its own request in an open loop.

// Next implements engine.Source.
func (j *job) Next(c *service.Call) {
	l := j.r.at(c.Slot)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send(j, c)
}

// Heard implements engine.Listener.
func (j *job) Heard(c *service.Call, events []record.Event, responses []byte) error {
	return j.line.Heard(c, events, responses)
}

// Pause implements engine.Listener. An open loop does not call it.
func (*job) Pause() (time.Duration, bool) { return 0, true }

// Watch implements engine.Watcher. It gives the job's place before the first token to another job when the first token has
// come, and cuts the request after its limit of chunks.
func (j *job) Watch(c *service.Call, response []byte, at int64) {
	limit := j.ask.limit
	if (j.r.gate == nil || !j.in) && limit == 0 {
		return
	}
	seen := &j.line.seen
	j.r.cfg.Endpoint.Event(seen, response, at)
	n := len(seen.Chunks)
	if n > 0 && j.in {
		j.in = false // until the request has ended, only this goroutine uses it
		j.r.gate.leave()
	}
	if limit > 0 && n == limit {
		go j.line.cut(j, c.Sequence) // a transport must not be told to cut while it reports
	}
}
