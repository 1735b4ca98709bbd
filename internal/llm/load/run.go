package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/vitals"
)

// levelRun is one level.
type levelRun struct {
	cfg  *Config
	lv   Level
	eng  run.Load
	own  *run.Engine // makes the load; nil where workers of a fleet make it
	gate *gate
	// pulse notices when this process does not run.
	pulse *vitals.Pulse
	now   atomic.Pointer[phase]

	mu      sync.Mutex // guards workers while they grow
	workers []*worker
	active  atomic.Int64 // workers in use in a closed loop
	whole   atomic.Int64 // those of all segments
	turns   turns

	draw    sync.Mutex
	rng     *rand.Rand
	dropped atomic.Uint64
	ids     *ids

	watch watching
	begun bool // workers of a fleet have begun a phase
	// forward, when set, passes each request on that was read, in place of counting it: this process is a worker of a fleet.
	forward func(a *ask, s *llm.Sample, rec *record.Record)
	collection
}

func newRun(hard context.Context, cfg *Config, lv Level) (*levelRun, error) {
	r := &levelRun{ids: newIDs()}
	r.choose(cfg, lv)
	if cfg.Fleet != nil {
		r.inbox = run.NewInbox(run.HoldNone, r.receive)
		r.eng, r.pulse = cfg.Fleet(r.inbox.Take), vitals.StartPulse()
		return r, nil
	}
	r.inbox = run.NewInbox(run.HoldNone, r.read)
	r.gate = newGate(max(cfg.Options.Prefill, cfg.Options.Warmup.Prefill), func(slot int) { r.own.Wake(slot) })
	watch := r.gate != nil || cfg.Options.CancelShare > 0 && cfg.Options.CancelTokens > 0
	eng, err := run.OpenEngine(hard, engine.Config{
		Service: cfg.Service, Keep: true, Timeout: cfg.Options.Timeout, Patience: cfg.Options.Patience,
		Collect: r.inbox.Take,
		Source: func(slot, _ int) engine.Source {
			l := r.at(slot)
			if watch {
				return &watched{l}
			}
			return l
		},
	}, nil)
	if err != nil {
		return nil, err
	}
	r.eng, r.own = eng, eng
	r.pulse = vitals.StartPulse()
	return r, nil
}

// choose sets the level that is measured.
func (r *levelRun) choose(cfg *Config, lv Level) {
	r.cfg, r.lv, r.rng = cfg, lv, rand.New(rand.NewPCG(cfg.Options.Segment.Seed(cfg.Options.Seed), 0xc07))
}

func (r *levelRun) close() {
	r.pulse.Stop()
	_ = r.eng.Close()
}

// beginning tells when a load begins. It is asked when the slots are made.
type beginning func(ctx context.Context) (int64, error)

// setSessions makes a closed loop have n sessions, in all segments together.
func (r *levelRun) setSessions(ctx context.Context, p *phase, n int, begin beginning) error {
	own := p.deal.Segment.Share(n)
	r.whole.Store(int64(n))
	r.active.Store(int64(own))
	if err := r.own.StartWhen(ctx, &engine.Closed{Concurrency: own}, begin); err != nil {
		return err
	}
	r.mu.Lock()
	workers := r.workers
	r.mu.Unlock()
	for _, w := range workers[min(own, len(workers)):] {
		w.retire()
	}
	return nil
}

// at is the worker of a slot.
func (r *levelRun) at(slot int) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.workers); i <= slot; i++ {
		r.workers = append(r.workers, &worker{r: r, slot: i})
	}
	return r.workers[slot]
}

// follow gives a worker of a closed loop its next job: the next turn of its conversation, or a new one. ended is when the
// worker's last request ended; 0: it begins.
func (r *levelRun) follow(w *worker, t *session, p *phase, ended int64) *job {
	if p.over.Load() || int64(w.slot) >= r.active.Load() {
		return nil
	}
	fresh := t == nil
	if fresh {
		if t = p.newSession(); t == nil {
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
		j.from = p.start + int64(ramp)*int64(p.deal.Segment.Number(w.slot))/max(1, r.whole.Load())
	}
	var pause time.Duration
	if !fresh {
		pause = t.conv.Turns[j.turn].Delay
	}
	if ended > 0 {
		j.from = max(j.from, ended+int64(max(pause, w.thinkTime(p))))
	}
	j.ask.from = j.from
	return j
}

// newJob makes the job of a session's next turn. It counts as pending from now on.
func (r *levelRun) newJob(t *session, p *phase) (*job, error) {
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
		phase: p, conv: t.conv, turn: turn, tokens: t.conv.Turns[turn].MaxTokens, input: -1,
		answers: t.answers, body: made.body, id: made.id, name: t.name,
	}
	if turn == 0 {
		a.input = t.input
	}
	if turn == 0 && r.cfg.KeepBodies && !p.warm {
		a.bodies = t.bodies
	}
	return &job{r: r, session: t, turn: turn, req: made.req, ask: a}, nil
}

// queueTurn queues the next turn of a conversation of an open loop; nil means that the conversation is over. A user whose
// conversation is over begins another.
func (r *levelRun) queueTurn(t *session, p *phase, due, ended int64) {
	if p.over.Load() {
		return
	}
	if p.lv.Users > 0 {
		r.nextOfUser(t, p, max(ended, due+int64(r.turns.gap)))
		return
	}
	if t == nil {
		r.turns.notify() // the dispatcher may wait for the last to end
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
func (r *levelRun) nextOfUser(t *session, p *phase, due int64) {
	if t == nil {
		if t = p.converse(); t == nil {
			r.turns.notify()
			return
		}
	}
	r.turns.push(t, due)
}

// cutAfter draws whether a request is to be cut, and after what time; one that is cut by tokens gets its limit.
func (r *levelRun) cutAfter(j *job) (time.Duration, bool) {
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

// String names a level in messages.
func (l *Level) String() string {
	if l.Prompts != "" {
		plain := *l
		plain.Prompts = ""
		return plain.String() + ", " + l.Prompts
	}
	switch {
	case l.Mode == plan.FixedSchedule:
		return "fixed schedule"
	case l.Users > 0:
		return fmt.Sprintf("%d users at %g requests/s", l.Users, l.Rate)
	case len(l.Stages) > 0 && l.Open():
		return "rate in stages"
	case len(l.Stages) > 0:
		return "concurrency in stages"
	case l.Open() && l.Concurrency > 0:
		return fmt.Sprintf("request rate %g, at most %d in flight", l.Rate, l.Concurrency)
	case l.Open():
		return fmt.Sprintf("request rate %g", l.Rate)
	}
	return fmt.Sprintf("concurrency %d", l.Concurrency)
}
