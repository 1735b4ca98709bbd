package stress

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// backOff is how long a thread waits after a pass was disturbed, so that it does not use up its iterations on a
// server that is away.
const backOff = 20 * time.Millisecond

// thread walks through its passes, at most Overlap of them at a time. Its lock guards its lines too.
type thread struct {
	run  *run
	id   int
	seed uint32

	mu      sync.Mutex
	draw    func() *Pass // nil at the end
	held    *Pass        // drawn already, but its context is busy
	lines   []*line
	active  int
	resting bool
	over    bool // draw has ended
	done    bool
	tally   Tally
}

// line is one context: a correlation id with a slot of the engine.
type line struct {
	t     *thread
	index int
	slot  int
	id    int
	name  string // the id as text

	pass    *Pass // nil when idle
	reqs    []service.Request
	at      int  // the step that is next, or in flight
	paused  bool // the sequence is left alone for a while
	began   int64
	waited  time.Duration
	sum     int64
	history []Event
	doubt   bool  // what the server holds under this id is not known
	before  *Pass // the last pass
	final   int64 // the sum with which the last sequence ended

	// What other lines may look at: the answer that is due, and the last one.
	due, last atomic.Int64
}

var _ engine.Dialog = (*line)(nil)

// name of the thread as the original prints it.
func (t *thread) name() string { return "thread_" + strconv.Itoa(t.id) }

// advance starts passes as far as there is room, and returns the slots that have something to send now. The lock is
// held.
func (t *thread) advance() (ready []int) {
	for t.active < t.run.opts.Overlap && !t.resting {
		p := t.held
		if t.held = nil; p == nil && !t.over && !t.run.stopping.Load() {
			p = t.draw()
		}
		if p == nil {
			t.over = true
			break
		}
		l := t.lines[p.Context]
		if l.pass != nil {
			t.held = p
			break
		}
		if !l.begin(p) {
			t.over = true
			break
		}
		ready = append(ready, l.slot)
	}
	if t.over && t.active == 0 && !t.resting && !t.done {
		t.done = true
		t.run.threadEnds()
	}
	return ready
}

// begin takes up a pass. It returns false when the run is over because requests cannot be made.
func (l *line) begin(p *Pass) bool {
	l.reqs = l.reqs[:0]
	for i := range p.Steps {
		s := &p.Steps[i]
		req, err := l.t.run.prepare(l, s)
		if err != nil {
			l.t.run.abort(err)
			return false
		}
		l.reqs = append(l.reqs, req)
	}
	l.t.active++
	l.pass, l.at, l.began, l.waited, l.sum, l.history = p, 0, 0, 0, 0, nil
	l.t.tally.sent(p, p.Context >= l.t.run.opts.Common)
	l.t.run.logPass(l)
	return true
}

// Ready implements engine.Dialog.
func (l *line) Ready() bool {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	return l.pass != nil && !l.paused
}

// Next implements engine.Feed.
func (l *line) Next(c *service.Call) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	s := &l.pass.Steps[l.at]
	if l.at == 0 {
		l.began = c.Rec.Due
	}
	c.Req = l.reqs[l.at]
	c.Vars = service.Vars{}
	if !l.t.run.opts.StringIDs {
		c.Vars = service.Vars{SeqID: uint64(l.id), Start: s.Start, End: s.End, Present: true}
	}
	c.Rec.Step, c.Rec.SeqID = uint32(s.Position), uint64(l.id)
	if s.Start {
		l.sum = 0
		c.Rec.Flags |= record.SequenceStart
	}
	if s.End {
		c.Rec.Flags |= record.SequenceEnd
	}
	l.due.Store(l.t.run.model.add(l.sum, s.Value))
	l.t.tally.Requests++
}

// Ended implements engine.Dialog.
func (l *line) Ended(c *service.Call, response []byte) {
	t := l.t
	t.mu.Lock()
	switch l.judge(c, response) {
	case right:
		l.at++
		if l.at == len(l.pass.Steps) {
			l.end(false)
		} else {
			l.pause(l.pass.Steps[l.at].Wait)
		}
	case wrong:
		l.end(true)
	case disturbed:
		t.tally.Disturbed++
		l.end(true)
		t.rest()
	}
	ready := t.advance()
	t.mu.Unlock()
	t.run.wake(ready)
}

// end lets go of the pass.
func (l *line) end(doubt bool) {
	l.doubt = doubt
	l.before, l.pass = l.pass, nil
	l.t.active--
	l.t.tally.Ended++
}

// pause leaves the sequence alone before its next request.
func (l *line) pause(d time.Duration) {
	if d == 0 {
		return
	}
	l.paused = true
	l.waited += d
	time.AfterFunc(d, func() {
		l.t.mu.Lock()
		l.paused = false
		l.t.mu.Unlock()
		l.t.run.wake([]int{l.slot})
	})
}

// rest keeps the thread from starting passes for a moment.
func (t *thread) rest() {
	if t.resting {
		return
	}
	t.resting = true
	time.AfterFunc(backOff, func() {
		t.mu.Lock()
		t.resting = false
		ready := t.advance()
		t.mu.Unlock()
		t.run.wake(ready)
	})
}
