package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// A random plan against a random server that keeps its own account. Every request that the server saw is in exactly one
// window, or it ended outside of all windows; windows, levels, timelines and exports agree on how many there were.
func TestEveryRequestIsInOneWindowOrOutside(t *testing.T) {
	testkit.Rounds(t, 150, func(t *testing.T, rng *rand.Rand) {
		p := randomPlan(t, rng)
		var b books
		testkit.Simulate(t, func(t *testing.T) { b.run(t, rng, p) })
		b.check(t, p)
	})
}

// books are the accounts of one run: the server's, and what the runner showed of its windows.
type books struct {
	ledger   testkit.Ledger
	shown    map[uint64]bool                // requests that a window has
	windows  map[*result.Level][]tally      // by level, what was shown
	levels   map[*result.Level]result.Level // as they ended
	exported int
	slow     *rand.Rand // where it is set, the collector falls behind
	early    bool       // the run was interrupted or given up
	journal
}

// tally counts the requests of a window.
type tally struct{ OK, Failed, Canceled uint64 }

func (b *books) LevelEnds(lv *result.Level) { b.levels[lv] = *lv }

// Begin, Request and End are the export.
func (b *books) Begin(plan.Mode, int, float64) error { return nil }

func (b *books) Request(*record.Record, []record.Event, []byte) error {
	b.exported++
	return nil
}

func (b *books) End([]int64) error { return nil }

// tap follows the records of windows.
func (b *books) tap(t *testing.T) profile.Tap {
	return func(lv *result.Level, window int, r *record.Record) error {
		if b.shown[r.SeqID] {
			t.Errorf("request %d is in two windows", r.SeqID)
		}
		b.shown[r.SeqID] = true
		if b.slow != nil && b.slow.IntN(8) == 0 { // the load goes on meanwhile
			time.Sleep(time.Duration(b.slow.IntN(5000)) * time.Microsecond)
		}
		if r.Flags&record.Closing != 0 {
			return nil
		}
		for len(b.windows[lv]) <= window {
			b.windows[lv] = append(b.windows[lv], tally{})
		}
		w := &b.windows[lv][window]
		switch r.Class {
		case record.OK:
			w.OK++
		case record.Canceled:
			w.Canceled++
		default:
			w.Failed++
		}
		return nil
	}
}

// run carries out the plan, and interrupts some of the runs.
func (b *books) run(t *testing.T, rng *rand.Rand, p *plan.Plan) {
	b.shown, b.windows, b.levels = map[uint64]bool{}, map[*result.Level][]tally{}, map[*result.Level]result.Level{}
	ctx, interrupt := context.WithCancel(t.Context())
	hard, cut := context.WithCancel(t.Context())
	defer interrupt()
	defer cut()
	if rng.IntN(3) == 0 {
		after, more := time.Duration(rng.IntN(400))*time.Millisecond, time.Duration(rng.IntN(20))*time.Millisecond
		time.AfterFunc(after, interrupt)
		time.AfterFunc(after+more, cut)
	}
	if rng.IntN(2) == 0 {
		b.slow = rand.New(rand.NewPCG(rng.Uint64(), 0))
	}
	periodic := p.Load.Mode == plan.PeriodicConcurrency
	streams := periodic || rng.IntN(3) == 0
	svc := b.ledger.Server(rng, time.Duration(1+rng.IntN(15))*time.Millisecond, streams)
	model, _ := svc.Describe(ctx)
	length := 0
	if rng.IntN(4) == 0 && !periodic {
		model.Scheduler, p.Input.Sequences, p.Input.SerialSequences = service.SequenceBatcher, 1+rng.IntN(5), rng.IntN(2) == 0
		length = 1 + rng.IntN(6)
	}
	turns, pause := 1+rng.IntN(10), time.Duration(rng.IntN(4))*time.Millisecond
	r := &profile.Runner{
		Plan: p, Service: svc, Model: model, Observer: b, Exporter: b, Tap: b.tap(t), Streams: streams, Timeline: true, Async: rng.IntN(2) == 0,
		Source: func(int, int) engine.Source {
			if p.Load.Mode == plan.SessionConcurrency {
				return b.ledger.Session(turns, pause)
			}
			return b.ledger.Sequences(length)
		},
	}
	_, err := r.Run(ctx, hard)
	b.early = errors.Is(err, run.ErrInterrupted) || errors.As(err, new(*profile.LoadError))
}

func randomPlan(t *testing.T, rng *rand.Rand) *plan.Plan {
	p := []*plan.Plan{perfPlan(), basePlan()}[rng.IntN(2)]
	p.Load.Seed = rng.Uint64()
	m := &p.Measure
	m.Interval, m.MinRequests = time.Duration(20+rng.IntN(100))*time.Millisecond, 1+rng.IntN(50)
	m.MaxTrials, m.Stability = 1+rng.IntN(5), []float64{0.1, 99}[rng.IntN(2)]
	m.StopOnFailure, m.MaxErrorRate = rng.IntN(5) == 0, float64(rng.IntN(2))*0.2
	m.Window = []plan.WindowMode{plan.TimeWindows, plan.CountWindows}[rng.IntN(2)]
	if rng.IntN(3) == 0 {
		m.Window, m.RequestCount = plan.CountWindows, 1+rng.IntN(200)
	}
	m.WarmupCount = rng.IntN(2) * rng.IntN(60)
	if rng.IntN(4) == 0 {
		p.Target.Timeout = time.Duration(1+rng.IntN(20)) * time.Millisecond
	}
	switch l := &p.Load; rng.IntN(5) {
	case 0:
		start := 1 + rng.IntN(8)
		l.Concurrency = plan.IntRange{Start: start, End: start + rng.IntN(4), Step: 1 + rng.IntN(3)}
	case 1:
		l.Mode, l.Distribution = plan.RequestRate, []plan.Distribution{plan.Constant, plan.Poisson}[rng.IntN(2)]
		start := 20 + 600*rng.Float64()
		l.Rate = plan.FloatRange{Start: start, End: start + 100*rng.Float64(), Step: 90}
	case 2:
		l.Mode, l.Intervals = plan.CustomIntervals, randomIntervals(t, rng)
	case 3:
		l.Mode, l.Sessions = plan.SessionConcurrency, 1+rng.IntN(8)
	default:
		l.Mode, l.Period = plan.PeriodicConcurrency, 1+rng.IntN(3)
		l.Periodic = plan.IntRange{Start: 1 + rng.IntN(4), End: 5 + rng.IntN(20), Step: 1 + rng.IntN(4)}
	}
	return p
}

// randomIntervals writes a file of gaps.
func randomIntervals(t *testing.T, rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(20) {
		fmt.Fprintln(&b, 1+rng.IntN(20_000))
	}
	path := filepath.Join(t.TempDir(), "gaps")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// check compares the accounts.
func (b *books) check(t *testing.T, p *plan.Plan) {
	server, once := b.ledger.Ended()
	if !once || b.ledger.Made() != uint64(len(server)) {
		t.Errorf("%d requests were made, %d ended at the server, each once: %v", b.ledger.Made(), len(server), once)
	}
	ok := 0
	for id := range server {
		r := server[id]
		if r.Class == record.OK && r.Flags&record.Closing == 0 {
			ok++
		}
		if !b.shown[id] {
			b.outside(t, &r)
		}
	}
	if p.Load.Mode == plan.PeriodicConcurrency && !b.early && b.exported != ok {
		t.Errorf("%d requests were exported, the server answered %d", b.exported, ok)
	}
	var all tally
	for ptr, lv := range b.levels {
		sum := b.level(t, &lv, b.windows[ptr])
		all.OK, all.Failed, all.Canceled = all.OK+sum.OK, all.Failed+sum.Failed, all.Canceled+sum.Canceled
	}
	if p.Load.Mode != plan.PeriodicConcurrency && uint64(b.exported) != all.OK {
		t.Errorf("%d requests were exported, %d are in windows", b.exported, all.OK)
	}
	if m := &p.Measure; m.RequestCount > 0 && !b.early && p.Load.Mode != plan.SessionConcurrency && p.Load.Mode != plan.PeriodicConcurrency {
		if n, want := all.OK+all.Failed, uint64(m.RequestCount*len(b.levels)); n != want || all.Canceled > 0 {
			t.Errorf("%d levels of %d requests have %+v", len(b.levels), m.RequestCount, all)
		}
	}
}

// outside checks that a request which no window has did not end within one.
func (b *books) outside(t *testing.T, r *record.Record) {
	end := clock.Wall(r.End)
	for _, lv := range b.levels {
		if n := len(lv.Windows); n > 0 && lv.Windows[0].StartUnixNs < end && end < lv.Windows[n-1].EndUnixNs {
			t.Errorf("request %d ended %s after the start of a level, within its windows, and is in none", r.SeqID, time.Duration(end-lv.Windows[0].StartUnixNs))
		}
	}
}

// level checks the numbers of a level against the requests that its windows were given, and returns their sum.
func (b *books) level(t *testing.T, lv *result.Level, given []tally) (sum tally) {
	var counted []tally
	for i := range lv.Windows {
		c := &lv.Windows[i].Client
		counted = append(counted, tally{OK: c.Requests, Failed: c.Failed})
	}
	var used tally
	for i := range counted {
		if i < len(given) {
			counted[i].Canceled = given[i].Canceled // results do not show those
		} else {
			given = append(given, tally{})
		}
		sum.OK, sum.Failed, sum.Canceled = sum.OK+given[i].OK, sum.Failed+given[i].Failed, sum.Canceled+given[i].Canceled
		if last := len(counted) - lv.Dead; i >= last-lv.Used && i < last {
			used.OK, used.Failed = used.OK+given[i].OK, used.Failed+given[i].Failed
		}
	}
	if d := cmp.Diff(given, counted); d != "" {
		t.Errorf("windows were given (-) and count (+): %s", d)
	}
	if d := cmp.Diff(used, tally{OK: lv.Client.Requests, Failed: lv.Client.Failed}); d != "" {
		t.Errorf("the windows that count (-) and the level (+) differ: %s", d)
	}
	if lv.Timeline != nil {
		var drawn tally
		for _, s := range lv.Timeline.Slices {
			drawn.OK, drawn.Failed = drawn.OK+s.Ended, drawn.Failed+s.Failed
		}
		if d := cmp.Diff(tally{OK: sum.OK, Failed: sum.Failed}, drawn); d != "" {
			t.Errorf("windows (-) and timeline (+) differ: %s", d)
		}
	}
	return sum
}
