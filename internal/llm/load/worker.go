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
	_ engine.Listener = (*worker)(nil)
	_ engine.Watcher  = (*watched)(nil)
	_ engine.Listener = (*job)(nil)
	_ engine.Watcher  = (*job)(nil)
)

// worker is what the load knows of one slot of the engine: what the slot sends next, what it has in flight, and what it has
// sent that the collector has not read yet. In a closed loop it is the source of the slot's requests.
type worker struct {
	r    *levelRun
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
func (w *worker) thinkTime(p *phase) time.Duration {
	if o := &w.r.cfg.Options; w.thinks != p {
		w.think, w.thinks = o.ThinkTime.Slot(o.Seed, p.deal.Segment.Number(w.slot)), p
	}
	if w.think == nil {
		return 0
	}
	return w.think()
}

// Pause implements engine.Listener. The slot of a job that must wait is parked, and a timer wakes it.
func (w *worker) Pause() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.r.now.Load()
	if w.job != nil && w.job.ask.phase != p {
		w.giveBack() // its phase ended just before the job could be sent
	}
	if w.job == nil {
		w.job = w.r.follow(w, nil, p, 0)
	}
	j := w.job
	switch {
	case j == nil:
		return 0, false
	case p.over.Load() && (j.from > clock.Now() || !j.in && w.r.gate != nil):
		w.giveBack() // the phase ended while the job waited
		return 0, false
	}
	if wait := j.from - clock.Now(); wait > 0 {
		if !j.held {
			j.held = true
			time.AfterFunc(time.Duration(wait), func() { w.r.own.Wake(w.slot) })
		}
		return 0, false
	}
	if !j.in && !w.r.gate.enter(w.slot) {
		return 0, false
	}
	j.in = true
	return 0, true
}

// giveBack takes back the next job, which will not be sent. The lock is held.
func (w *worker) giveBack() {
	p := w.job.ask.phase
	w.job = nil
	p.started.Add(-1)
	p.drop()
}

// retire ends the session of a slot that the load no longer uses.
func (w *worker) retire() {
	w.mu.Lock()
	if w.job != nil && !w.job.in { // a job that is in is about to be sent
		w.giveBack()
	}
	w.mu.Unlock()
	w.r.gate.forget(w.slot)
}

// Next implements engine.Source.
func (w *worker) Next(c *service.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.job
	w.job = nil
	w.send(j, c)
}

// send fills in the request of a job. The lock is held.
func (w *worker) send(j *job, c *service.Call) {
	j.worker, w.flying = w, j
	w.asks = append(w.asks, j.ask)
	w.seen.Reset()
	c.Req = j.req
	c.Vars = service.Vars{}
	if d, ok := w.r.cutAfter(j); ok {
		sequence := c.Sequence
		w.timer = time.AfterFunc(d, func() { w.cutUntilEnded(j, sequence, firstCutAgain) })
	}
}

// cut cancels the request of a job, and tells whether the request is still in flight.
func (w *worker) cut(j *job, sequence uint64) bool {
	w.mu.Lock()
	flying := w.flying == j
	if flying {
		j.ask.cut = true
	}
	w.mu.Unlock()
	return flying && w.r.own.Engine.Cut(w.slot, sequence, record.Canceled)
}

// The times between two attempts to cut one request.
const (
	firstCutAgain = 200 * time.Microsecond
	mostCutAgain  = 10 * time.Millisecond
)

// cutUntilEnded cuts a request until it has ended: after a delay of 0 the transport may not have the request yet.
func (w *worker) cutUntilEnded(j *job, sequence uint64, again time.Duration) {
	if w.cut(j, sequence) {
		time.AfterFunc(again, func() { w.cutUntilEnded(j, sequence, min(2*again, mostCutAgain)) })
	}
}

// Heard implements engine.Listener.
func (w *worker) Heard(c *service.Call, events []record.Event, responses []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.flying
	w.flying = nil
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if j.in {
		w.r.gate.leave()
	}
	p := j.ask.phase
	var refused error
	t := j.session
	if t.next < len(t.conv.Turns) {
		if c.Rec.Class == record.OK {
			refused = endpoint.Read(w.r.cfg.Endpoint, &w.answer, events, responses)
		}
		if c.Rec.Class != record.OK || refused != nil {
			j.ask.dropped = len(t.conv.Turns) - t.next
			w.r.dropped.Add(uint64(j.ask.dropped))
			t = nil
		} else {
			t.answers = append(t.answers, string(w.answer.Text))
		}
	} else {
		t = nil
	}
	if j.ask.err = c.Err; c.Err == nil {
		j.ask.err = refused
	}
	if p.lv.Open() {
		w.r.queueTurn(t, p, j.due, c.Rec.End)
	} else if w.job == nil {
		w.job = w.r.follow(w, t, p, c.Rec.End)
	}
	p.drop()
	return refused
}

// pop takes the oldest request that was sent.
func (w *worker) pop() *ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asks) == 0 {
		return nil
	}
	a := w.asks[0]
	w.asks = append(w.asks[:0], w.asks[1:]...)
	return a
}

// watched is a worker of a closed loop that looks at answers as they come.
type watched struct{ *worker }

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
	w := j.r.at(c.Slot)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.send(j, c)
}

// Heard implements engine.Listener.
func (j *job) Heard(c *service.Call, events []record.Event, responses []byte) error {
	return j.worker.Heard(c, events, responses)
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
	seen := &j.worker.seen
	j.r.cfg.Endpoint.Event(seen, response, at)
	n := len(seen.Chunks)
	if n > 0 && j.in {
		j.in = false // until the request has ended, only this goroutine uses it
		j.r.gate.leave()
	}
	if limit > 0 && n == limit {
		go j.worker.cut(j, c.Sequence) // a transport must not be told to cut while it reports
	}
}
