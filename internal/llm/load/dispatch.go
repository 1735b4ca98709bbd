package load

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// dispatcher gives jobs to free lines when they are due.
type dispatcher struct {
	r    *run
	p    *phase
	next func(ctx context.Context) (j *job, ok bool) // blocks until a job is known, not until it is due
}

// The lines of an open loop without a cap: few at first, more as they are needed.
const (
	firstLines = 64
	mostLines  = 1 << 15
)

// dispatch starts an open loop.
func (r *run) dispatch(ctx context.Context, p *phase) (stop func(), err error) {
	lines := firstLines
	if c := p.lv.Concurrency; c > 0 {
		lines = c
	}
	if err := r.grow(ctx, lines); err != nil {
		return nil, err
	}
	r.free.reset(len(r.snapshot()))
	r.turns.reset()
	d := &dispatcher{r: r, p: p}
	switch {
	case p.lv.Mode == plan.FixedSchedule:
		d.next = d.timed()
	case p.lv.Users > 0:
		d.next = d.users()
	default:
		d.next = d.paced(newSchedule(&p.lv, &p.load, r.cfg.Options.Seed))
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	p.pending.Add(1) // the dispatcher itself
	done.Go(func() {
		defer p.drop()
		d.run(ctx)
		p.finish()
	})
	return func() { cancel(); done.Wait(); r.grown.Wait() }, nil
}

func (d *dispatcher) run(ctx context.Context) {
	for !d.p.over.Load() {
		j, ok := d.next(ctx)
		if !ok {
			return
		}
		// The end of the phase ends the wait, too: a schedule may have long gaps.
		for wait := j.due - clock.Now(); wait > 0 && !d.p.over.Load(); wait = j.due - clock.Now() {
			if !clock.SleepUntil(ctx, min(j.due, clock.Now()+int64(100*time.Millisecond))) {
				d.p.drop()
				return
			}
		}
		if d.p.over.Load() || !d.send(ctx, j) {
			d.p.started.Add(-1)
			d.p.drop()
			return
		}
	}
}

// send hands a job to a free line, as soon as there is one and a place before the first token.
func (d *dispatcher) send(ctx context.Context, j *job) bool {
	if g := d.r.gate; g != nil {
		for !g.enter(-1) {
			select {
			case <-g.freed:
			case <-d.p.idle:
				return false
			case <-ctx.Done():
				return false
			}
		}
		j.in = true
	}
	slot, ok := d.r.freeLine(ctx)
	if !ok {
		return false
	}
	l := d.r.at(slot)
	l.mu.Lock()
	l.job = j
	l.mu.Unlock()
	d.r.eng.Wake(slot)
	return true
}

// job makes the job of a talk's next turn.
func (d *dispatcher) job(t *talk, due int64) *job {
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

// ended tells that no job will come any more: only the dispatcher itself is left.
func (d *dispatcher) ended() bool {
	return d.p.over.Load() || d.p.last.Load() && d.p.pending.Load() <= 1 && d.r.turns.empty()
}

// paced takes times from a schedule. At each, a conversation that waits for its next turn goes before a new one. When
// no new one is left, the times that find no turn pass.
func (d *dispatcher) paced(s pace.Schedule) func(context.Context) (*job, bool) {
	return func(ctx context.Context) (*job, bool) {
		offset, ok := s.Next()
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
}

// timed follows the times of the turns themselves. Turns without one follow the answer before them.
func (d *dispatcher) timed() func(context.Context) (*job, bool) {
	var head *talk // the next conversation of the source
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

// soon tells whether a turn is due in a moment. Otherwise it waits a while, so that one which becomes known meanwhile
// and is due earlier goes first.
func (d *dispatcher) soon(ctx context.Context, t *talk, due int64) bool {
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
	// coarse is how long before its time a job leaves the queue.
	coarse = 5 * time.Millisecond
	// look is how often a dispatcher looks whether the phase is over.
	look = 100 * time.Millisecond
)

// users keeps a number of conversations, each of which asks at its own even pace; the first ones start one after the
// other. A conversation that ends is followed by a new one at the same pace.
func (d *dispatcher) users() func(context.Context) (*job, bool) {
	lv := &d.p.lv
	gap := time.Duration(float64(lv.Users) / lv.Rate * float64(time.Second))
	d.r.turns.gap = gap
	begun := 0
	return func(ctx context.Context) (*job, bool) {
		for {
			if begun < lv.Users {
				due := d.p.start + int64(gap)*int64(begun)/int64(lv.Users)
				begun++
				if t := d.p.converse(); t != nil {
					j := d.job(t, due)
					return j, j != nil
				}
				begun = lv.Users
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

// turns are the conversations whose next turn waits for its time.
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

func (t *turns) push(k *talk, due int64) {
	t.mu.Lock()
	heap.Push(&t.queue, waiting{k, due})
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// take removes the earliest turn that is due by then; nil when there is none.
func (t *turns) take(by int64) *talk {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 || t.queue[0].due > by {
		return nil
	}
	return heap.Pop(&t.queue).(waiting).talk
}

// pop removes the earliest turn. Only the dispatcher removes any, so what earliest saw is there, or an earlier one.
func (t *turns) pop() (*talk, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := heap.Pop(&t.queue).(waiting)
	return w.talk, w.due
}

func (t *turns) earliest() (*talk, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil, 0
	}
	return t.queue[0].talk, t.queue[0].due
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
	talk *talk
	due  int64
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
