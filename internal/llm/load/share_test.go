package load_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// crew is a fleet in this process: parts of a load whose records come to the coordinator without a network. The clocks of the workers
// are ahead by different times.
type crew struct {
	parts []*load.Share

	mu      sync.Mutex // held while records are collected
	collect run.Collect
	flying  run.Flying
	broken  error
	partErr error // why a part cannot go on
	failed  chan struct{}
	lost    atomic.Bool // the last worker is lost
	told    []told
	late    atomic.Int64 // how long after their end records come
}

// told is what a worker told of a request.
type told struct {
	rec  record.Record
	data []byte
}

// ahead is how far the clock of a worker is ahead.
func ahead(i int) int64 { return int64(i+1) * int64(time.Hour) }

func newCrew(t *testing.T, cfg load.Config, lv load.Level, n int) *crew {
	t.Helper()
	cfg.Watch = nil // the coordinator looks at the load
	c := &crew{failed: make(chan struct{})}
	for i := range n {
		part := cfg
		part.Options.Segment = segment.Segment{Index: i, Of: n}
		read := func(phase json.RawMessage) (load.Part, error) {
			var o load.Order
			err := json.Unmarshal(phase, &o)
			own := part
			own.KeepText, own.KeepWire, own.KeepBodies = o.Text, o.Wire, o.Bodies
			own.Sample, own.Bodies = nil, nil
			return load.Part{Config: own, Level: lv, Warmup: o.Warmup}, err
		}
		p, err := load.OpenShare(t.Context(), part, read, func(r *record.Record, _ []record.Event, data []byte) {
			sent := *r
			for _, at := range []*int64{&sent.Due, &sent.Sent, &sent.Written, &sent.First, &sent.End} { // as the worker's clock shows them
				if *at != 0 {
					*at += ahead(i)
				}
			}
			c.deliver(&sent, slices.Clone(data), i, n)
		})
		if err != nil {
			t.Fatal(err)
		}
		c.parts = append(c.parts, p)
	}
	return c
}

// deliver corrects the clock of a record and numbers its slot in the whole fleet, as fleet.Run does.
func (c *crew) deliver(r *record.Record, data []byte, i, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range []*int64{&r.Due, &r.Sent, &r.Written, &r.First, &r.End} {
		if *at != 0 {
			*at -= ahead(i)
		}
	}
	r.Slot = r.Slot*uint32(n) + uint32(i)
	c.told = append(c.told, told{*r, data})
	c.flying.Ended(r)
	c.collect(r, nil, data)
}

func (c *crew) Open(collect run.Collect) run.Load {
	c.alone(func() { c.collect = collect })
	return c
}

func (c *crew) Begin(ctx context.Context, order run.Order) error {
	at := clock.Now() + int64(50*time.Millisecond)
	c.Sync(run.Vitals, func(s *run.State) { order.Starts(at, s) })
	part := run.Order{Phase: order.Phase, When: func(context.Context) (int64, error) { return at, nil }}
	errs := make(chan error, len(c.parts))
	for _, p := range c.parts {
		go func() { errs <- p.Begin(ctx, part) }()
	}
	for range c.parts {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func (c *crew) Wait(ctx context.Context) error {
	for _, p := range c.parts {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *crew) Cut() {
	for _, p := range c.parts {
		p.Cut()
	}
}

func (c *crew) Stop() {
	for _, p := range c.parts {
		p.Stop()
	}
}

// Sync adds up what the parts have counted.
func (c *crew) Sync(d run.Detail, fn func(*run.State)) {
	if d >= run.Exact {
		time.Sleep(time.Duration(c.late.Load()))
	}
	var s run.State
	c.alone(func() { s.Err = c.broken })
	var flights []engine.Flight
	for i, p := range c.parts {
		part := run.Read(p, d)
		if part.Err != nil {
			c.alone(func() { c.partErr = part.Err })
		}
		s.Sent, s.InFlight, s.Working = s.Sent+part.Sent, s.InFlight+part.InFlight, s.Working || part.Working
		s.Connections, s.Busiest = s.Connections+part.Connections, max(s.Busiest, part.Busiest)
		s.Workers = append(s.Workers, measure.Reading{Name: fmt.Sprintf("w%d", i), At: clock.Now(), MaxProcs: 2, Connections: part.Connections, Busiest: part.Busiest})
		for _, f := range part.Flights {
			f.Slot = f.Slot*len(c.parts) + i
			flights = append(flights, f)
		}
	}
	if c.lost.Load() {
		s.Workers[len(s.Workers)-1].Lost = "it sent nothing for 4.4s"
	}
	s.At = clock.Now()
	if d < run.Flights {
		c.alone(func() { fn(&s) })
		return
	}
	c.alone(func() { c.flying.Begin(flights) })
	time.Sleep(time.Duration(c.late.Load()))
	for _, p := range c.parts {
		p.Sync(run.Glance, func(*run.State) {})
	}
	c.alone(func() {
		s.Flights = c.flying.End()
		fn(&s)
	})
}

func (c *crew) alone(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
}

func (c *crew) Failed() <-chan struct{} { return c.failed }
func (c *crew) Close() error            { return nil }

// onFleet carries out a level with n workers in simulated time.
func onFleet(t *testing.T, cfg load.Config, lv load.Level, n int, during func(*crew)) (out *load.Outcome, c *crew) {
	t.Helper()
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c = newCrew(t, cfg, lv, n)
		if during != nil {
			go during(c)
		}
		whole := cfg
		whole.Fleet, whole.Phase = c.Open, func(o load.Order) any { return o }
		var err error
		if out, err = load.Run(ctx, ctx, whole, lv); err != nil {
			t.Error(err)
		}
		for _, p := range c.parts {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return out, c
}

// numbered is a source of different prompts.
func numbered(turns int) func() (load.Source, error) {
	return func() (load.Source, error) { return &numbers{turns: turns}, nil }
}

type numbers struct{ n, turns int }

func (p *numbers) Next() (*llm.Conversation, bool) {
	p.n++
	c := &llm.Conversation{ID: fmt.Sprintf("c%d", p.n)}
	for i := range p.turns {
		c.Turns = append(c.Turns, llm.Turn{Texts: []string{fmt.Sprintf("prompt %d.%d", p.n, i)}, MaxTokens: 4})
	}
	return c, true
}
func (p *numbers) Err() error   { return nil }
func (p *numbers) Close() error { return nil }

// A fleet sends the requests of one process, and reports what one process reports: every metric, whatever the clocks of the workers
// show.
func TestAFleetReportsAsOneProcess(t *testing.T) {
	f := func(name string, lv load.Level, turns int, edit func(*load.Options)) {
		t.Helper()
		carryOut := func(workers int) ([]result.Metric, []string, *load.Outcome) {
			s := &server{first: 20 * time.Millisecond, gap: 5 * time.Millisecond, tokens: 6}
			cfg := config(t, s, -1)
			cfg.Open = numbered(turns)
			edit(&cfg.Options)
			var out *load.Outcome
			if workers == 0 {
				out = runLevel(t, cfg, lv)
			} else {
				out, _ = onFleet(t, cfg, lv, workers, nil)
			}
			slices.Sort(s.bodies)
			return out.Level.Metrics, s.bodies, out
		}
		want, bodies, one := carryOut(0)
		for _, workers := range []int{1, 2, 3} {
			got, sent, out := carryOut(workers)
			if d := cmp.Diff(bodies, sent); d != "" {
				t.Errorf("%s: %d workers send other requests: %s", name, workers, d)
			}
			if d := cmp.Diff(counts(want), counts(got)); d != "" {
				t.Errorf("%s: %d workers report other numbers: %s", name, workers, d)
			}
			var n uint64
			for _, w := range out.Level.Workers {
				n += w.Requests
			}
			if len(out.Level.Workers) != workers || n != one.Level.Client.Requests {
				t.Errorf("%s: %d workers have the parts %+v", name, workers, out.Level.Workers)
			}
			if out.Stopped != "" {
				t.Errorf("%s: stopped: %s", name, out.Stopped)
			}
		}
	}
	closed, paced := load.Level{Mode: plan.Concurrency, Concurrency: 4}, load.Level{Mode: plan.RequestRate, Rate: 50}
	f("requests in closed loop", closed, 1, func(o *load.Options) { o.Requests = 40 })
	f("with a warm-up", closed, 1, func(o *load.Options) {
		o.Requests = 40
		o.Warmup = load.Warmup{Requests: 8}
	})
	f("conversations", closed, 3, func(o *load.Options) { o.Sessions = 12 })
	f("a rate", paced, 1, func(o *load.Options) { o.Requests, o.Arrival = 60, load.Poisson })
	f("a rate for a time", paced, 1, func(o *load.Options) { o.Duration, o.Arrival = 1985*time.Millisecond, load.Constant })
	f("users", load.Level{Mode: plan.RequestRate, Rate: 30, Users: 6}, 2, func(o *load.Options) { o.Requests = 36 })
}

// What workers told before this process began is collected with the numbers that the coordinator would have reported, and with the true times.
func TestCollectingWhatWorkersTold(t *testing.T) {
	s := &server{first: 20 * time.Millisecond, gap: 5 * time.Millisecond, tokens: 6}
	cfg := config(t, s, -1)
	cfg.Open, cfg.Options.Requests = numbered(1), 40
	lv := load.Level{Mode: plan.Concurrency, Concurrency: 4}
	want, c := onFleet(t, cfg, lv, 2, nil)
	ago := clock.Now() + int64(24*time.Hour) // all times are below 0 then
	var taps int
	cfg.Tap = func(rec *record.Record) error {
		if taps++; rec.Sent >= 0 {
			t.Errorf("a record was sent at %d", rec.Sent)
		}
		return nil
	}
	first := int64(math.MaxInt64)
	got, err := load.Collect(cfg, lv, func(each func(rec *record.Record, data []byte)) error {
		for _, told := range c.told {
			rec := told.rec
			for _, at := range []*int64{&rec.Due, &rec.Sent, &rec.Written, &rec.First, &rec.End} {
				*at -= ago
			}
			first = min(first, rec.Sent)
			each(&rec, told.data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(counts(want.Level.Metrics), counts(got.Level.Metrics)); d != "" {
		t.Error(d)
	}
	if w := got.Level.Windows[0]; w.StartUnixNs != clock.Wall(first) || taps != 40 || !got.Level.Unfinished || !got.Interrupted {
		t.Errorf("window %+v, %d records, unfinished %v", w, taps, got.Level.Unfinished)
	}
	if none, err := load.Collect(cfg, lv, func(func(*record.Record, []byte)) error { return nil }); none != nil || err != nil {
		t.Errorf("without records: %+v, %v", none, err)
	}
}

// A look at a measurement in progress counts exactly the requests that have ended, however late the records of the workers come.
func TestALookAtAFleetIsExact(t *testing.T) {
	looks := func(workers int) (seen []map[string]string) {
		s := &server{first: 20 * time.Millisecond, gap: 5 * time.Millisecond, tokens: 6}
		cfg := config(t, s, -1)
		cfg.Open = numbered(1)
		// A request takes 55 ms on its slot: none ends within 10 ms after a look.
		cfg.First = measure.Look{Settle: 510 * time.Millisecond, At: 1500 * time.Millisecond}
		cfg.Watch = func(now measure.Sight) (measure.Look, bool) {
			lv, _ := now.Level(0)
			seen = append(seen, counts(lv.Metrics))
			return measure.Look{At: now.Elapsed + 990*time.Millisecond}, len(seen) < 3
		}
		lv := load.Level{Mode: plan.Concurrency, Concurrency: 4}
		if workers == 0 {
			runLevel(t, cfg, lv)
			return seen
		}
		onFleet(t, cfg, lv, workers, func(c *crew) { c.late.Store(int64(120 * time.Millisecond)) })
		return seen
	}
	want := looks(0)
	if len(want) != 3 || want[0]["request_count"] == want[1]["request_count"] {
		t.Fatalf("looks %v", want)
	}
	for _, workers := range []int{1, 2, 3} {
		if d := cmp.Diff(want, looks(workers)); d != "" {
			t.Errorf("%d workers: %s", workers, d)
		}
	}
}

// counts are the metrics except for the times of day, rounded: sums in another order differ in their last digits.
func counts(list []result.Metric) map[string]string {
	out := map[string]string{}
	for _, m := range list {
		if strings.Contains(m.Tag, "timestamp") {
			continue
		}
		text := fmt.Sprintf("avg %.4f", m.Avg)
		if m.Distributed() {
			text += fmt.Sprintf(" min %.4f max %.4f", m.Min, m.Max)
			for _, q := range m.Quantiles {
				text += fmt.Sprintf(" p%g %.4f", q.P, q.V)
			}
		}
		out[m.Tag] = text
	}
	return out
}

// Requests in flight at the end of a level are cut on all workers, and counted.
func TestAFleetCutsWhatIsInFlight(t *testing.T) {
	s := &server{first: time.Minute, tokens: 1}
	cfg := config(t, s, -1)
	cfg.Options.Duration, cfg.Options.Grace = 2*time.Second, time.Second
	out, _ := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 5}, 2, nil)
	if m, ok := metricOf(out, "canceled_request_count"); !ok || m != 5 || out.Level.Client.Requests != 0 {
		t.Errorf("%g canceled, %+v", m, out.Level.Client)
	}
	if d := out.Level.Windows[0].EndUnixNs - out.Level.Windows[0].StartUnixNs; time.Duration(d).Round(100*time.Millisecond) != 3*time.Second {
		t.Errorf("the level took %s, want 3 s", time.Duration(d))
	}
}

func metricOf(out *load.Outcome, tag string) (float64, bool) {
	for _, m := range out.Level.Metrics {
		if m.Tag == tag {
			return m.Avg, true
		}
	}
	return 0, false
}

// A limit of failures counts those of all workers, and ends the level on all of them.
func TestAFleetCountsFailuresTogether(t *testing.T) {
	s := &server{answer: func(int64, string) ([]string, *service.Error) {
		return []string{"no"}, &service.Error{Class: record.Server, Code: 429, Text: "later"}
	}, first: 10 * time.Millisecond}
	cfg := config(t, s, -1)
	cfg.Options.Duration, cfg.Options.MaxErrors = time.Minute, 9
	out, _ := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 4}, 2, nil)
	if !strings.HasPrefix(out.Stopped, "9 requests failed, the last with: ") || !out.ServerGone {
		t.Errorf("stopped: %q", out.Stopped)
	}
	if f := out.Level.Failures; len(f) != 1 || f[0].Class != "server 429" {
		t.Errorf("%+v", f)
	}
}

// A fleet that cannot go on ends the level, which says why.
func TestABrokenFleetEndsTheLevel(t *testing.T) {
	s := &server{first: 10 * time.Millisecond, tokens: 1}
	cfg := config(t, s, -1)
	cfg.Options.Duration = time.Minute
	out, _ := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 2}, 2, func(c *crew) {
		time.Sleep(time.Second)
		c.alone(func() { c.broken = fmt.Errorf("all workers are lost") })
		close(c.failed)
	})
	if out.Stopped != "all workers are lost" || out.ServerGone || out.Level.Client.Requests == 0 || !out.Level.Unfinished {
		t.Errorf("stopped: %q, %+v", out.Stopped, out.Level.Client)
	}
}

// Samples have their texts, bytes and bodies where files want them, as in one process.
func TestAFleetPassesOnWhatFilesNeed(t *testing.T) {
	f := func(workers int) []string {
		s := &server{first: 20 * time.Millisecond, gap: 5 * time.Millisecond, tokens: 3}
		cfg := config(t, s, -1)
		cfg.Open, cfg.KeepText, cfg.KeepWire, cfg.Options.Sessions = numbered(2), true, true, 6
		var mu sync.Mutex
		var got []string
		cfg.Sample = func(x *llm.Sample) {
			mu.Lock()
			defer mu.Unlock()
			var times []time.Duration
			for _, c := range x.Chunks {
				times = append(times, time.Duration(c.At-x.Sent))
			}
			wire := ""
			for _, a := range x.Answers {
				wire += fmt.Sprint(time.Duration(a.At-x.Sent), string(a.Data))
			}
			got = append(got, fmt.Sprint(x.Conversation, x.Turn, x.Text, *x.Usage, x.Input, x.Output, x.Asked, times, string(x.Payload), wire,
				time.Duration(x.Headers-x.Sent), time.Duration(x.Last-x.Sent), time.Duration(x.End-x.Sent), x.Streamed, x.In, x.Out))
		}
		cfg.Bodies = func(session string, bodies [][]byte) {
			mu.Lock()
			defer mu.Unlock()
			text, _ := json.Marshal(bodies)
			got = append(got, session+string(text))
		}
		lv := load.Level{Mode: plan.Concurrency, Concurrency: 3}
		if workers == 0 {
			runLevel(t, cfg, lv)
		} else {
			onFleet(t, cfg, lv, workers, nil)
		}
		slices.Sort(got)
		return got
	}
	want := f(0)
	if len(want) != 6*2+6 {
		t.Fatalf("%d entries", len(want))
	}
	if d := cmp.Diff(want, f(2)); d != "" {
		t.Error(d)
	}
}

// A source that fails on a worker is an error of the worker.
func TestAPartSaysWhyItCannotGoOn(t *testing.T) {
	s := &server{first: 10 * time.Millisecond, tokens: 1}
	cfg := config(t, s, -1)
	cfg.Options.Duration = time.Minute
	cfg.Open = func() (load.Source, error) { return &broken{}, nil }
	_, c := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 2}, 2, nil)
	if err := c.partErr; err == nil || err.Error() != "line 3: no prompt" {
		t.Error(err)
	}
}

// broken is a source that fails after a few prompts.
type broken struct{ numbers }

func (b *broken) Next() (*llm.Conversation, bool) {
	if b.n >= 3 {
		return nil, false
	}
	b.turns = 1
	return b.numbers.Next()
}

func (b *broken) Err() error { return fmt.Errorf("line 3: no prompt") }

// A worker that is lost is named in the reasons of the level.
func TestTheConnectionsOfAFleetAreThoseOfItsWorkers(t *testing.T) {
	s := &server{first: 10 * time.Millisecond, tokens: 1, shared: 2}
	cfg := config(t, s, -1)
	cfg.Options.Requests = 40
	out, _ := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 2}, 2, nil)
	h, w := out.Level.Health, out.Level.Workers[1].Health
	if h.Connections != 4 || h.ConnectionBusy < 0.4 || w.Connections != 2 || w.ConnectionBusy < 0.4 {
		t.Errorf("%d connections, busy %g; of the second worker %d, %g", h.Connections, h.ConnectionBusy, w.Connections, w.ConnectionBusy)
	}
}

func TestALostWorkerIsNamed(t *testing.T) {
	s := &server{first: 10 * time.Millisecond, tokens: 1}
	cfg := config(t, s, -1)
	cfg.Options.Requests = 40
	out, _ := onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 2}, 2, func(c *crew) { c.lost.Store(true) })
	if !slices.ContainsFunc(out.Reasons, func(r result.Reason) bool {
		return r.What == "worker w1: was lost: it sent nothing for 4.4s; its share of the load was not sent"
	}) || out.Level.Workers[1].Lost == "" || out.Level.Workers[0].Lost != "" || !out.Level.ClientLimited {
		t.Errorf("reasons %+v, workers %+v", out.Reasons, out.Level.Workers)
	}
}
