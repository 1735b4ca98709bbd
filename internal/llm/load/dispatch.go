package load

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// The slots of an open loop without a cap: few at first, more as they are needed.
const (
	firstSlots = 64
	mostSlots  = 1 << 15
)

// startOpen starts an open loop.
func (r *levelRun) startOpen(ctx context.Context, p *phase, begin beginning) error {
	r.turns.reset()
	d := &dispatcher{r: r, p: p}
	switch {
	case p.lv.Mode == plan.FixedSchedule:
		d.next = d.timed()
	case p.lv.Users > 0:
		d.next = d.users()
	default:
		d.schedule = pace.Part(newSchedule(&p.lv, &p.load, r.cfg.Options.Seed), p.deal)
		d.next = d.paced
	}
	loop := &engine.Paced{Arrivals: d, Slots: firstSlots, Cap: mostSlots}
	if c := p.deal.Segment.Share(p.lv.Concurrency); c > 0 {
		loop.Slots, loop.Cap = c, c
	}
	p.pending.Add(1) // the dispatcher itself
	return r.own.StartWhen(ctx, loop, begin)
}

// dispatcher tells the engine's paced loop which turn of which conversation to send, and when.
type dispatcher struct {
	r    *levelRun
	p    *phase
	next func(ctx context.Context) (j *job, ok bool) // blocks until a job is known, not until it is due
	last *job                                        // that next returned
	// schedule are the due times of a load at a rate, after that of last; nil: turns have due times of their own.
	schedule pace.Schedule
}

var _ engine.Arrivals = (*dispatcher)(nil)

// Next implements engine.Arrivals.
func (d *dispatcher) Next(ctx context.Context, flush func()) (time.Duration, bool) {
	flush()
	if d.p.over.Load() {
		return 0, false
	}
	var ok bool
	if d.last, ok = d.next(ctx); !ok {
		return 0, false
	}
	return time.Duration(d.last.due - d.p.start), true
}

// Pick implements engine.Arrivals. It waits for a place before the first token.
func (d *dispatcher) Pick(ctx context.Context, _ func()) (engine.Job, bool) {
	for !d.r.gate.enter(-1) {
		select {
		case <-d.r.gate.freed:
		case <-ctx.Done():
			return engine.Job{}, false
		}
	}
	d.last.in = true
	return engine.Job{Source: d.last}, !d.p.over.Load()
}

// Ended implements engine.Arrivals.
func (*dispatcher) Ended(int, bool) bool { return true }

// Close implements engine.Arrivals.
func (d *dispatcher) Close(unsent bool) []engine.Source {
	if unsent {
		d.p.started.Add(-1)
	}
	d.countDropped(unsent)
	if unsent {
		d.p.drop()
	}
	d.p.finish()
	d.p.drop()
	return nil
}

// countDropped counts the requests that are due and were not sent because the load was stopped. If unsent, the last job is one of them.
func (d *dispatcher) countDropped(unsent bool) {
	p, s, left := d.p, d.schedule, -1
	waiting := d.r.turns.dues(p.start)
	if s == nil {
		s = pace.Fixed(waiting)
	}
	if p.limit > 0 {
		left = int(p.limit - p.started.Load())
	} else if p.last.Load() { // no conversation is left but those under way
		left = len(waiting)
		if unsent {
			left++
		}
	}
	at, ok := time.Duration(0), true
	if unsent {
		at = time.Duration(d.last.due - p.start)
	} else {
		at, ok = s.Next()
	}
	if ok {
		d.r.own.CountDropped(s, p.start, at, left)
	}
}

// job makes the job of a session's next turn.
func (d *dispatcher) job(t *session, due int64) *job {
	if !d.p.spend() {
		return nil
	}
	j, err := d.r.newJob(t, d.p)
	if err != nil {
		d.p.fail(err)
		return nil
	}
	j.due = due
	return j
}

// ended tells whether no job will come any more: only the dispatcher itself is pending.
func (d *dispatcher) ended() bool {
	return d.p.over.Load() || d.p.last.Load() && d.p.pending.Load() <= 1 && d.r.turns.empty()
}

// paced takes the next due time from the schedule. At each, a conversation that waits for its next turn goes before a new one. When
// no new conversation is left, a due time without a turn waits for one.
func (d *dispatcher) paced(ctx context.Context) (*job, bool) {
	offset, ok := d.schedule.Next()
	if !ok {
		return nil, false
	}
	due := d.p.start + int64(offset)
	for {
		t := d.r.turns.take(due)
		if t == nil {
			t = d.p.converse()
		}
		if t != nil {
			j := d.job(t, due)
			return j, j != nil
		}
		if d.ended() || !d.r.turns.wait(ctx, coarse) && ctx.Err() != nil {
			return nil, false
		}
		due = max(due, clock.Now())
	}
}

// timed takes due times from the turns themselves. A turn without one follows the answer before it.
func (d *dispatcher) timed() func(context.Context) (*job, bool) {
	var head *session // the next conversation of the source
	var at int64
	return func(ctx context.Context) (*job, bool) {
		for {
			if head == nil {
				if head = d.p.converse(); head != nil {
					at = d.p.start + int64(head.conv.Turns[0].At)
				}
			}
			t, due := d.r.turns.earliest()
			fresh := head != nil && (t == nil || at < due)
			if fresh {
				t, due = head, at
			}
			switch {
			case d.ended() || ctx.Err() != nil:
				return nil, false
			case !d.soon(ctx, t, due):
				continue
			case fresh:
				head = nil
			default:
				t, due = d.r.turns.pop() // one that came meanwhile is earlier still
			}
			j := d.job(t, due)
			return j, j != nil
		}
	}
}

// soon tells whether a turn is due within coarse. Otherwise it waits a while, so that a turn which becomes known meanwhile
// and is due earlier goes first.
func (d *dispatcher) soon(ctx context.Context, t *session, due int64) bool {
	wait := look
	if t != nil {
		wait = time.Duration(due-clock.Now()) - coarse
	}
	if t != nil && wait <= 0 {
		return true
	}
	d.r.turns.wait(ctx, min(wait, look))
	return false
}

const (
	// coarse is how long before its due time a job leaves the queue.
	coarse = 5 * time.Millisecond
	// look is how often a dispatcher checks whether the phase is over.
	look = 100 * time.Millisecond
)

// users keeps a number of conversations, each of which sends its turns at equal intervals; the first ones start one after
// the other. A conversation that ends is followed by a new one with the same intervals.
func (d *dispatcher) users() func(context.Context) (*job, bool) {
	lv, deal := &d.p.lv, d.p.deal
	gap := time.Duration(float64(lv.Users) / lv.Rate * float64(time.Second))
	d.r.turns.gap = gap
	begun, users := 0, deal.Own()
	return func(ctx context.Context) (*job, bool) {
		for {
			if begun < users {
				due := d.p.start + int64(gap)*int64(deal.Number(begun))/int64(lv.Users)
				begun++
				if t := d.p.converse(); t != nil {
					j := d.job(t, due)
					return j, j != nil
				}
				begun = users
			}
			t, due := d.r.turns.earliest()
			if d.ended() || ctx.Err() != nil {
				return nil, false
			}
			if d.soon(ctx, t, due) {
				t, due = d.r.turns.pop() // one that came meanwhile is earlier still
				j := d.job(t, due)
				return j, j != nil
			}
		}
	}
}

// turns are the conversations whose next turn is not due yet.
type turns struct {
	mu    sync.Mutex
	queue queue
	gap   time.Duration // of users
	news  chan struct{}
}

func (t *turns) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = t.queue[:0]
	if t.news == nil {
		t.news = make(chan struct{}, 1)
	}
}

func (t *turns) push(k *session, due int64) {
	t.mu.Lock()
	heap.Push(&t.queue, waiting{k, due})
	t.mu.Unlock()
	t.notify()
}

// notify makes a dispatcher that waits look again.
func (t *turns) notify() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// take removes the earliest turn that is due by then; nil when there is none.
func (t *turns) take(by int64) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 || t.queue[0].due > by {
		return nil
	}
	return heap.Pop(&t.queue).(waiting).session
}

// pop removes the earliest turn. Only the dispatcher removes any, so what earliest saw is there, or an earlier one.
func (t *turns) pop() (*session, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := heap.Pop(&t.queue).(waiting)
	return w.session, w.due
}

func (t *turns) earliest() (*session, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil, 0
	}
	return t.queue[0].session, t.queue[0].due
}

// dues are when the turns are due, from start, in order.
func (t *turns) dues(start int64) []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []time.Duration
	for _, w := range t.queue {
		out = append(out, time.Duration(w.due-start))
	}
	slices.Sort(out)
	return out
}

func (t *turns) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) == 0
}

// wait blocks for so long; false when a turn came first, or ctx ended.
func (t *turns) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.news:
	case <-ctx.Done():
	}
	return false
}

type waiting struct {
	session *session
	due     int64
}

type queue []waiting

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(waiting)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
