package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/vitals"
)

// run is one level.
type run struct {
	cfg  *Config
	lv   Level
	eng  *engine.Engine
	gate *gate
	// pulse notices when this process does not run.
	pulse *vitals.Pulse
	now   atomic.Pointer[phase]

	mu     sync.Mutex // guards lines while they grow
	lines  []*line
	active atomic.Int64 // lines in use in closed loop
	free   freeLines
	turns  turns
	grown  sync.WaitGroup
	full   atomic.Bool

	draw    sync.Mutex
	rng     *rand.Rand
	numbers atomic.Uint64
	dropped atomic.Uint64
	ids     *ids

	collection
}

func newRun(hard context.Context, cfg *Config, lv Level) (*run, error) {
	r := &run{cfg: cfg, lv: lv, rng: rand.New(rand.NewPCG(cfg.Options.Seed, 0xc07)), ids: newIDs()}
	r.gate = newGate(max(cfg.Options.Prefill, cfg.Options.Warmup.Prefill), func(slot int) { r.eng.Wake(slot) })
	watch := r.gate != nil || cfg.Options.CancelShare > 0 && cfg.Options.CancelTokens > 0
	eng, err := engine.Open(hard, engine.Config{
		Service: cfg.Service, Keep: true, Timeout: cfg.Options.Timeout, Patience: cfg.Options.Patience,
		Feed: func(slot, _ int) engine.Feed {
			l := r.at(slot)
			if watch {
				return &watched{line: l}
			}
			return l
		},
	})
	if err != nil {
		return nil, err
	}
	r.eng = eng
	r.pulse = vitals.StartPulse()
	return r, nil
}

func (r *run) close() {
	r.pulse.Stop()
	_ = r.eng.Close()
}

// grow makes n lines usable, and no more than those send in closed loop.
func (r *run) grow(ctx context.Context, n int) error {
	r.mu.Lock()
	for i := len(r.lines); i < n; i++ {
		r.lines = append(r.lines, &line{r: r, slot: i})
	}
	r.mu.Unlock()
	r.active.Store(int64(n))
	return r.eng.Closed(ctx, n, 0)
}

func (r *run) snapshot() []*line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines
}

func (r *run) at(slot int) *line { return r.snapshot()[slot] }

// follow gives a line of a closed loop its next job: the next turn of its conversation, or a new one. ended is when the
// line's last request ended; 0: it begins.
func (r *run) follow(l *line, t *talk, p *phase, ended int64) *job {
	if p.over.Load() || int64(l.slot) >= r.active.Load() {
		return nil
	}
	fresh := t == nil
	if fresh {
		if t = p.newTalk(); t == nil {
			return nil
		}
	} else if !p.spend() {
		return nil
	}
	j, err := r.newJob(t, p)
	if err != nil {
		p.fail(err)
		return nil
	}
	if ramp := p.load.Ramp; fresh && ramp > 0 {
		j.from = p.start + int64(ramp)*int64(l.slot)/max(1, r.active.Load())
	}
	var pause time.Duration
	if !fresh {
		pause = t.conv.Turns[j.turn].Delay
	}
	if ended > 0 {
		j.from = max(j.from, ended+int64(max(pause, l.thinkTime(p))))
	}
	j.ask.from = j.from
	return j
}

// newJob makes the job of a talk's next turn. It counts as pending from now on.
func (r *run) newJob(t *talk, p *phase) (*job, error) {
	turn := t.next
	made, err := r.request(t, turn)
	if err != nil {
		return nil, err
	}
	if t.next++; turn == 0 {
		p.supply.begin(t)
	}
	p.pending.Add(1)
	a := &ask{
		phase: p, conv: t.conv, turn: turn, number: r.numbers.Add(1) - 1, tokens: t.conv.Turns[turn].MaxTokens, input: -1,
		answers: t.answers, body: made.body, id: made.id, name: t.name,
	}
	if turn == 0 {
		a.input = t.input
	}
	return &job{talk: t, turn: turn, req: made.req, ask: a}, nil
}

// line puts a conversation of an open loop back in the queue, when its next turn is due by itself; a user whose
// conversation is over begins another.
func (r *run) line(t *talk, p *phase, due, ended int64) {
	if p.over.Load() {
		return
	}
	if p.lv.Users > 0 {
		r.nextOfUser(t, p, max(ended, due+int64(r.turns.gap)))
		return
	}
	if t == nil {
		r.turns.nudge() // the dispatcher may wait for the last to end
		return
	}
	next := &t.conv.Turns[t.next]
	due = ended + int64(next.Delay)
	if p.lv.Mode == plan.FixedSchedule && next.Timed {
		due = max(due, p.start+int64(next.At))
	}
	r.turns.push(t, due)
}

// nextOfUser keeps a user's pace: its next turn, of this conversation or a new one, is due one gap after the last was,
// and not before the answer.
func (r *run) nextOfUser(t *talk, p *phase, due int64) {
	if t == nil {
		if t = p.converse(); t == nil {
			r.turns.nudge()
			return
		}
	}
	r.turns.push(t, due)
}

// nudge lets a dispatcher look again.
func (t *turns) nudge() {
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// cutAfter draws whether a request is to be cut, and after what time; one that is cut by tokens gets its limit.
func (r *run) cutAfter(j *job) (time.Duration, bool) {
	o := &r.cfg.Options
	if o.CancelShare <= 0 || j.ask.phase.warm {
		return 0, false
	}
	r.draw.Lock()
	chosen := r.rng.Float64() < o.CancelShare
	r.draw.Unlock()
	if !chosen {
		return 0, false
	}
	if o.CancelTokens > 0 {
		j.ask.limit = max(1, int(o.CancelTokens*float64(max(1, j.ask.tokens))))
		return 0, false
	}
	return o.CancelDelay, true
}

// freeLines is the stack of idle lines of an open loop.
type freeLines struct {
	mu     sync.Mutex
	stack  []int
	total  int
	signal chan struct{}
}

func (f *freeLines) reset(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signal = make(chan struct{}, 1)
	f.stack, f.total = f.stack[:0], n
	for i := n - 1; i >= 0; i-- {
		f.stack = append(f.stack, i)
	}
}

func (f *freeLines) extend(n int) {
	f.mu.Lock()
	for i := f.total; i < n; i++ {
		f.stack = append(f.stack, i)
	}
	f.total = n
	f.mu.Unlock()
	f.ping()
}

func (f *freeLines) push(slot int) {
	f.mu.Lock()
	f.stack = append(f.stack, slot)
	f.mu.Unlock()
	f.ping()
}

func (f *freeLines) ping() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

func (f *freeLines) pop() (slot, left, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot = -1
	if n := len(f.stack); n > 0 {
		slot = f.stack[n-1]
		f.stack = f.stack[:n-1]
	}
	return slot, len(f.stack), f.total
}

// freeLine takes a free line and waits for one when there is none. Where nothing caps them more are made in time.
func (r *run) freeLine(ctx context.Context) (int, bool) {
	for {
		slot, left, total := r.free.pop()
		if r.now.Load().lv.Concurrency == 0 && left*4 < total && total < mostLines && !r.full.Load() {
			r.more(ctx, total)
		}
		if slot >= 0 {
			return slot, true
		}
		select {
		case <-r.free.signal:
		case <-ctx.Done():
			return 0, false
		case <-r.now.Load().idle:
			return 0, false
		case <-time.After(100 * time.Millisecond):
			if r.now.Load().over.Load() {
				return 0, false
			}
		}
	}
}

// more doubles the lines in the background, so that dialing does not hold up what is due.
func (r *run) more(ctx context.Context, total int) {
	if !r.full.CompareAndSwap(false, true) {
		return
	}
	r.grown.Go(func() {
		n := min(2*total, mostLines)
		if err := r.grow(ctx, n); err != nil {
			return // the lines that exist go on; the wait for them shows as lateness
		}
		r.free.extend(n)
		r.full.Store(false)
	})
}

// levelName names a level in messages.
func (l *Level) String() string {
	switch {
	case l.Mode == plan.FixedSchedule:
		return "fixed schedule"
	case l.Users > 0:
		return fmt.Sprintf("%d users at %g requests/sec", l.Users, l.Rate)
	case len(l.Stages) > 0 && l.Open():
		return "rate in stages"
	case len(l.Stages) > 0:
		return "concurrency in stages"
	case l.Open() && l.Concurrency > 0:
		return fmt.Sprintf("%g requests/sec, at most %d in flight", l.Rate, l.Concurrency)
	case l.Open():
		return fmt.Sprintf("%g requests/sec", l.Rate)
	}
	return fmt.Sprintf("concurrency %d", l.Concurrency)
}
