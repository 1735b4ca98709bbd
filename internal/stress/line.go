package stress

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// A thread pauses after a disturbed pass, so that it does not use up its iterations while the server is away: firstRest at first,
// longer after each further disturbed pass, up to mostRest.
const (
	firstRest = 20 * time.Millisecond
	mostRest  = 640 * time.Millisecond
)

// thread runs its passes, at most Overlap of them at once. Its lock also guards its lines.
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
	wait    time.Duration // length of the next pause
	over    bool          // draw has ended
	done    bool
	tally   Tally
	begun   atomic.Int64 // passes
}

// line is one context: a correlation id with a slot of the engine.
type line struct {
	t     *thread
	index int
	slot  int
	id    int
	name  string // the id as text

	pass    *Pass // nil when idle
	trains  []*trainOf
	at      int  // the next train, or the one in flight
	step    int  // the step of the next response
	paused  bool // the sequence pauses
	began   int64
	earlier int64 // start of the previous pass
	waited  time.Duration
	sum     int64
	history []Event
	fault   Fault // the last fault
	lost    []int // iterations of abandoned passes
	doubt   bool  // the server's state for this id is unknown
	before  *Pass // the previous pass
	final   int64 // the last sum of the previous sequence
	since   []int // passes that each thread had begun when this one began
}

var _ engine.Listener = (*line)(nil)

// name is the name of the thread in sequence_stress.py's output.
func (t *thread) name() string { return "thread_" + strconv.Itoa(t.id) }

// advance starts passes up to Overlap, and returns the slots that have something to send. The caller holds the lock.
func (t *thread) advance() (ready []int) {
	for t.active < t.run.plan.Overlap && !t.resting {
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

// trainOf is the content of one call: the requests of a sequence up to a pause, or a single request if the service sends one at a
// time.
type trainOf struct {
	steps []Step
	req   service.Request
}

// begin starts a pass. It returns false if the run has ended because requests cannot be made.
func (l *line) begin(p *Pass) bool {
	l.trains = l.trains[:0]
	for rest := p.Steps; len(rest) > 0; {
		n := l.t.run.couple(rest)
		req, err := l.t.run.prepare(l, rest[:n])
		if err != nil {
			l.t.run.abort(err)
			return false
		}
		l.trains = append(l.trains, &trainOf{rest[:n], req})
		rest = rest[n:]
	}
	l.t.active++
	l.earlier = l.began
	l.pass, l.at, l.step, l.began, l.waited, l.sum, l.history = p, 0, 0, 0, 0, 0, nil
	l.since = l.t.run.begun(l.since[:0])
	l.t.begun.Add(1)
	l.t.tally.sent(p, p.Context >= l.t.run.plan.Common)
	l.t.run.logPass(l)
	return true
}

// Pause implements engine.Listener: a line without a pass is parked until its thread starts one.
func (l *line) Pause() (time.Duration, bool) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	return 0, l.pass != nil && !l.paused
}

// Next implements engine.Source.
func (l *line) Next(c *service.Call) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	train := l.trains[l.at]
	if l.at == 0 {
		l.began = c.Rec.Due
	}
	s := &train.steps[0]
	c.Req = train.req
	c.Vars = service.Vars{SeqID: uint64(l.id), Start: s.Start, End: s.End, Present: true}
	if l.t.run.plan.StringIDs {
		c.Vars.SeqName = l.name
	}
	if l.t.run.cfg.Train == nil { // a train has ids of its own
		c.Vars.ID, c.Vars.HasID = l.t.run.ids.Add(1), true
	}
	c.Rec.SeqID = uint64(l.id)
	if s.Start {
		c.Rec.Flags |= record.SequenceStart
	}
	if train.steps[len(train.steps)-1].End {
		c.Rec.Flags |= record.SequenceEnd
	}
	l.t.tally.Requests += uint64(len(train.steps))
}

// expect is the response to a step that comes next.
func (l *line) expect(s *Step) int64 {
	if s.Start {
		l.sum = 0
	}
	return l.t.run.model.add(l.sum, s.Value)
}

// Heard implements engine.Listener. It judges failures itself, so the engine counts none.
func (l *line) Heard(c *service.Call, events []record.Event, responses []byte) error {
	t := l.t
	t.mu.Lock()
	outcome := l.judge(c, events, responses)
	c.Rec.Class = record.OK
	switch outcome {
	case right:
		l.at++
		if l.at == len(l.trains) {
			l.end(false)
			t.wait = 0
		} else {
			l.pause(l.trains[l.at].steps[0].Wait)
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
	return nil
}

// end lets go of the pass.
func (l *line) end(lost bool) {
	l.before, l.pass = l.pass, nil
	l.t.active--
	l.t.tally.Ended++
	if lost {
		l.renew()
	}
}

// renew moves on to another correlation id of the thread's block: of a sequence that was given up, requests may still
// wait in the server and get into the next sequence with its id. When all ids have been used once, what the server
// holds under the next is not known.
func (l *line) renew() {
	l.lost = append(l.lost, l.before.Iteration)
	l.id = l.idAfter(len(l.lost))
	l.name = l.t.run.plan.name(l.id)
	l.doubt = len(l.lost) >= l.spare()
	l.before, l.final = nil, 0
}

// spare is how many correlation ids the line has.
func (l *line) spare() int { return l.t.run.plan.IDBlock / l.t.run.plan.Contexts() }

// idAfter is the correlation id after so many losses.
func (l *line) idAfter(losses int) int {
	p := l.t.run.plan
	return p.ID(l.t.id, l.index+losses%l.spare()*p.Contexts())
}

// nameIn is the correlation id, as text, that the line had in an iteration.
func (l *line) nameIn(iteration int) string {
	before, _ := slices.BinarySearch(l.lost, iteration)
	return l.t.run.plan.name(l.idAfter(before))
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
	t.wait = min(max(2*t.wait, firstRest), mostRest)
	time.AfterFunc(t.wait, func() {
		t.mu.Lock()
		t.resting = false
		ready := t.advance()
		t.mu.Unlock()
		t.run.wake(ready)
	})
}
