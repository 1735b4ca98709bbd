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
)

// line is one slot of the engine: what it sends next, what it has in flight, and what it has sent that the collector
// has not read yet.
type line struct {
	r    *run
	slot int

	mu     sync.Mutex
	job    *job // to be sent next
	flying *job
	asks   []*ask // sent and not collected, oldest first
	timer  *time.Timer
	answer endpoint.Answer
	think  func() time.Duration // draws the think times of thinks; nil: there is none
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

// Pause implements engine.Listener. A job that must wait holds no slot: its line rests and is woken.
func (l *line) Pause() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.r.now.Load()
	if l.job == nil && !p.lv.Open() {
		l.job = l.r.follow(l, nil, p, 0)
	}
	j := l.job
	switch {
	case j == nil:
		return 0, false
	case p.over.Load() && j.due == 0 && j.from > clock.Now(), p.over.Load() && !j.in && l.r.gate != nil && !p.lv.Open():
		l.job = nil // the phase ended while it waited
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

// Next implements engine.Feed.
func (l *line) Next(c *service.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	j := l.job
	l.job, l.flying = nil, j
	l.asks = append(l.asks, j.ask)
	c.Req = j.req
	c.Vars = service.Vars{}
	c.Rec.Slot = uint32(c.Slot)
	if j.due > 0 {
		c.Rec.Due = j.due
		if clock.Now()-j.due > int64(engine.DelayedAfter) {
			c.Rec.Flags |= record.Delayed
		}
	}
	if d, ok := l.r.cutAfter(j); ok {
		l.timer = time.AfterFunc(d, func() { l.cutUntilEnded(j, firstCutAgain) })
	}
}

// cut ends a request that is still in flight, and tells whether it is. It holds the lock meanwhile: the request cannot end,
// and the next one cannot be sent, before the right one is cut.
func (l *line) cut(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flying != j {
		return false
	}
	j.ask.cut = true
	l.r.eng.Cut(l.slot, record.Canceled)
	return true
}

// The times between two attempts to cut one request.
const (
	firstCutAgain = 200 * time.Microsecond
	mostCutAgain  = 10 * time.Millisecond
)

// cutUntilEnded cuts a request. After a delay of 0 the transport may not have the request yet, and then cuts nothing, so
// it is told again until the request has ended.
func (l *line) cutUntilEnded(j *job, again time.Duration) {
	if l.cut(j) {
		time.AfterFunc(again, func() { l.cutUntilEnded(j, min(2*again, mostCutAgain)) })
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
	j.ask.err = c.Err
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
	j.ask.err = firstError(c.Err, refused)
	if p.lv.Open() {
		l.r.line(t, p, j.due, c.Rec.End)
		l.r.free.push(l.slot)
	} else if l.job == nil {
		l.job = l.r.follow(l, t, p, c.Rec.End)
	}
	p.drop()
	return refused
}

func firstError(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
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

// watched is a line that looks at answers as they come: it frees the place of a request with its first token, and cuts
// it after so many chunks.
type watched struct {
	*line
	look endpoint.Answer
	of   *job
}

// Watch implements engine.Watcher.
func (w *watched) Watch(_ *service.Call, response []byte, at int64) {
	w.mu.Lock()
	j := w.flying
	w.mu.Unlock()
	if j == nil {
		return
	}
	if w.of != j {
		w.look.Reset()
		w.of = j
	}
	limit := j.ask.limit
	if !j.in && limit == 0 {
		return
	}
	w.r.cfg.Endpoint.Event(&w.look, response, at)
	n := len(w.look.Chunks)
	if n > 0 && j.in {
		j.in = false // only this goroutine and Heard, which comes after, look at it while it flies
		w.r.gate.leave()
	}
	if limit > 0 && n == limit {
		go w.cut(j) // a transport must not be told to cut while it reports
	}
}
