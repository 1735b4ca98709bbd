package profile_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/workload"
)

// sent is a request as the server of a test saw it.
type sent struct {
	due int64 // from the start of the simulation
	row uint32
}

// divided is a plan that is run as a whole and in segments.
type divided struct {
	plan  *plan.Plan
	async bool
	rows  int // different requests
	state bool
	times []time.Duration // of a fixed schedule
}

// A random plan, as a whole and in 1 to 16 segments: the segments together send the requests of the whole, at the same due times and
// with the same data; none is missing, none is sent twice.
func TestSegmentsSendTheWhole(t *testing.T) {
	testkit.Rounds(t, 25, func(t *testing.T, rng *rand.Rand) {
		d := randomDivided(t, rng)
		whole, _ := d.send(t, segment.Segment{})
		of := 1 + rng.IntN(16)
		var all []sent
		ids := map[uint64]int{} // sequence id to segment
		for i := range of {
			part, seen := d.send(t, segment.Segment{Index: i, Of: of})
			all = append(all, part...)
			for _, id := range seen {
				if other, used := ids[id]; used && other != i {
					t.Fatalf("segments %d and %d both use the sequence id %d", other, i, id)
				}
				if in := &d.plan.Input; id < in.SequenceStartID || id >= in.SequenceStartID+in.SequenceIDRange {
					t.Fatalf("sequence id %d is outside of the range", id)
				}
				ids[id] = i
			}
		}
		if len(whole) == 0 {
			t.Fatal("nothing was sent")
		}
		slices.SortFunc(all, compareSent)
		if !slices.Equal(all, whole) {
			t.Errorf("%s in %d segments: %d requests of %d, or other requests:\n%v\n%v", d.plan.Load.Mode, of, len(all), len(whole), all, whole)
		}
	})
}

func compareSent(a, b sent) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.row, b.row)) }

// randomDivided draws a plan whose requests, as a whole, do not depend on which response comes first.
func randomDivided(t *testing.T, rng *rand.Rand) *divided {
	p := basePlan()
	d := &divided{plan: p, async: rng.IntN(2) == 0, rows: 1 + rng.IntN(12)}
	l, m := &p.Load, &p.Measure
	l.Seed, l.MaxThreads, l.Search = rng.Uint64(), 1+rng.IntN(20), plan.Single
	p.Input.SequenceStartID, p.Input.SequenceIDRange, p.Input.Sequences = 500, 400, 1+rng.IntN(20)
	p.Input.SequenceLength = 20
	p.Input.Source, p.Input.StringLength = plan.JSONFiles, 4
	m.OneWindow, m.Interval = true, 301*time.Millisecond
	d.state = rng.IntN(4) == 0
	rate := 20 + 800*rng.Float64()
	switch rng.IntN(6) {
	case 0, 1:
		c := 1 + rng.IntN(20)
		l.Concurrency = plan.IntRange{Start: c, End: c, Step: 1}
		if rng.IntN(2) == 0 {
			l.ThinkTime = pace.ThinkTime{Mean: 20 * time.Millisecond, Spread: 10 * time.Millisecond}
		} else if rng.IntN(2) == 0 { // with a think time the last requests go to the slots that are free first
			m.RequestCount, m.WarmupCount = c*(1+rng.IntN(5)), c*rng.IntN(3)
		}
	case 2, 3:
		l.Mode, l.Distribution = plan.RequestRate, []plan.Distribution{plan.Constant, plan.Poisson}[rng.IntN(2)]
		l.Rate = plan.FloatRange{Start: rate, End: rate, Step: 1}
		if rng.IntN(2) == 0 {
			l.Stages = []pace.Stage{{From: 0, To: rate, Time: 150 * time.Millisecond}, {From: 3 * rate, To: 10, Time: 77 * time.Millisecond}}
		}
	case 4:
		l.Mode, l.Intervals = plan.CustomIntervals, randomIntervals(t, rng)
	default:
		l.Mode, m.WarmupCount = plan.FixedSchedule, rng.IntN(10)
		m.RequestCount = 1 + rng.IntN(50)
		d.rows, d.state = m.WarmupCount+m.RequestCount, false
		for n := range d.rows {
			d.times = append(d.times, time.Duration(n%max(1, m.WarmupCount))*3*time.Millisecond)
			if n >= m.WarmupCount {
				d.times[n] = time.Duration((n-m.WarmupCount)/2) * 7 * time.Millisecond
			}
		}
	}
	if l.Mode == plan.RequestRate || l.Mode == plan.CustomIntervals {
		if rng.IntN(2) == 0 && len(l.Stages) == 0 && !d.state { // the last requests of sequences are sent by those that have some left
			m.RequestCount, m.WarmupCount = 1+rng.IntN(60), rng.IntN(20)
		}
		d.async = d.async || d.state // synchronous sequences are drawn at random
	}
	return d
}

// send runs a segment of the plan and returns its requests in order, and their sequence ids.
func (d *divided) send(t *testing.T, part segment.Segment) (list []sent, ids []uint64) {
	p := d.plan.With(func(p *plan.Plan) { p.Segment = part })
	testkit.Simulate(t, func(t *testing.T) {
		start := clock.Now()
		begun := start + int64(1100*time.Millisecond) // all segments begin to measure at this time
		end := begun + int64(p.Measure.Interval)
		var mu sync.Mutex
		open := p.Load.Mode != plan.Concurrency
		svc := pinned(1370001 * time.Nanosecond)
		svc.Ended = func(r record.Record) {
			mu.Lock()
			defer mu.Unlock()
			if p.Measure.RequestCount == 0 && len(p.Load.Stages) == 0 && r.Due > end-int64(5*time.Millisecond) || r.Flags&record.Closing != 0 {
				return // near the end of the window
			}
			if ids = append(ids, r.SeqID); !d.state {
				ids = ids[:0]
			}
			if d.state && open {
				r.Step = 0 // which sequence a request belongs to depends on which are free
			}
			list = append(list, sent{r.Due - start, r.Step})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		model, sources := d.traffic(ctx, t, svc, p)
		r := &profile.Runner{
			Plan: p, Service: svc, Model: model, Observer: &journal{}, Async: d.async, Times: d.times,
			Source: func(slot, active int) engine.Source { return sources.Source(slot, active) },
			Ready:  func(context.Context) error { clock.SleepUntil(ctx, begun); return nil },
		}
		res, err := r.Run(ctx, ctx)
		// A part with few requests may end before the first of them has.
		if err != nil && res.Verdict.State != result.TooShort || res.Verdict.State == result.Failed {
			t.Fatalf("segment %v: %v, %+v", part, err, res.Verdict)
		}
		if idle := res.Levels[0].Idle; idle && len(list) > 0 && p.Measure.WarmupCount == 0 {
			t.Errorf("segment %v is idle and sent %d requests", part, len(list))
		}
	})
	slices.SortFunc(list, compareSent)
	return list, ids
}

// traffic makes the requests of the plan: their rows are the steps of one stream.
func (d *divided) traffic(ctx context.Context, t *testing.T, svc *testkit.Service, p *plan.Plan) (*service.Model, *workload.Sources) {
	model := &service.Model{Name: "fake", Statistics: true, Inputs: []service.TensorSpec{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{1}}}}
	if d.state {
		model.Scheduler = service.SequenceBatcher
	}
	in := p.Input
	in.Paths = []string{d.file(t)}
	data, err := workload.Load(in, model)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := workload.Prepare(ctx, svc, data)
	if err != nil {
		t.Fatal(err)
	}
	return model, workload.NewSources(requests, model, p, d.async, engine.WorkerOf)
}

// file writes input data with as many steps as there are rows.
func (d *divided) file(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`{"data":[`)
	for i := range d.rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"IN":[%d]}`, i)
	}
	b.WriteString(`]}`)
	path := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A segment without work is idle at a level: that is no error, and the run is valid.
func TestSegmentWithoutWorkIsIdle(t *testing.T) {
	f := func(edit func(*plan.Plan)) {
		t.Helper()
		p := basePlan()
		p.Segment = segment.Segment{Index: 4, Of: 5}
		edit(p)
		svc := pinned(time.Millisecond)
		res, _, err := runPlan(t, p, svc, nil)
		if err != nil || res.Verdict.State != result.Valid || len(res.Levels) != 1 || !res.Levels[0].Idle || svc.Sent() > 0 {
			t.Errorf("%v, %+v, %d levels, %d requests", err, res.Verdict, len(res.Levels), svc.Sent())
		}
	}
	f(func(p *plan.Plan) { p.Load.Concurrency = plan.IntRange{Start: 4, End: 4, Step: 1} })
	f(func(p *plan.Plan) {
		p.Load.Concurrency, p.Measure.RequestCount = plan.IntRange{Start: 9, End: 9, Step: 1}, 4
	})
	f(func(p *plan.Plan) { p.Load.Mode, p.Measure.RequestCount = plan.RequestRate, 4 })
	f(func(p *plan.Plan) { p.Load.Mode = plan.RequestRate }) // four threads
	f(func(p *plan.Plan) { p.Measure.Window = plan.CountWindows })
}

// Only the first segment has a periodic load, and all of it.
func TestPeriodicLoadIsNotDivided(t *testing.T) {
	for i, want := range []int64{6, 0} {
		p := basePlan()
		p.Load.Mode, p.Load.Period, p.Load.Periodic = plan.PeriodicConcurrency, 1, plan.IntRange{Start: 2, End: 6, Step: 2}
		p.Segment = segment.Segment{Index: i, Of: 2}
		svc := pinned(time.Millisecond)
		if _, _, err := runPlan(t, p, svc, nil); err != nil || svc.Sent() != want {
			t.Errorf("segment %v: %d requests, %v", p.Segment, svc.Sent(), err)
		}
	}
}
