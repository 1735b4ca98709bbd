package load_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/testkit"
)

// asked is a request of a load.
type asked struct {
	due          int64 // from the start of the simulation
	conversation string
	turn         int
	warm         bool
}

// timetable is prompts with a due time for each conversation.
type timetable struct{ prompts }

func (p *timetable) Next() (*llm.Conversation, bool) {
	c, ok := p.prompts.Next()
	if ok {
		c.Turns[0].At, c.Turns[0].Timed = time.Duration(p.n/2)*7*time.Millisecond, true
	}
	return c, ok
}

// divided is a load that is run as a whole and in segments.
type divided struct {
	lv    load.Level
	o     load.Options
	turns int // of each conversation
	// Which response comes first decides when a conversation is asked (anyTime), or which conversations are asked (anyText).
	anyTime, anyText bool
}

// A random load, as a whole and in 1 to 16 segments: the segments together ask the turns of the whole, at the same due times; none is
// missing, none is asked twice.
func TestSegmentsAskTheWhole(t *testing.T) {
	testkit.Rounds(t, 25, func(t *testing.T, rng *rand.Rand) {
		d := randomDivided(rng)
		whole := d.ask(t, segment.Segment{})
		of := 1 + rng.IntN(16)
		var all []asked
		for i := range of {
			all = append(all, d.ask(t, segment.Segment{Index: i, Of: of})...)
		}
		got, want := view(all, d.same()), view(whole, d.same())
		if len(whole) == 0 || !slices.Equal(got, want) {
			t.Errorf("%v in %d segments: %d requests of %d, or other requests:\n%v\n%v", &d.lv, of, len(got), len(want), got, want)
		}
	})
}

// same returns what must be the same of a request.
func (d *divided) same() func(asked) asked {
	times := func(a asked) asked { return asked{due: a.due, warm: a.warm} }
	texts := func(a asked) asked { return asked{conversation: a.conversation, turn: a.turn, warm: a.warm} }
	switch {
	case d.anyTime:
		return texts
	case d.anyText:
		return times
	}
	return func(a asked) asked { return a }
}

func view(list []asked, only func(asked) asked) []asked {
	out := make([]asked, len(list))
	for i, a := range list {
		out[i] = only(a)
	}
	slices.SortFunc(out, compareAsked)
	return out
}

func compareAsked(a, b asked) int {
	warm := func(a asked) int { return map[bool]int{false: 1}[a.warm] }
	return cmp.Or(cmp.Compare(warm(a), warm(b)), cmp.Compare(a.due, b.due), cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.turn, b.turn))
}

// randomDivided draws a load.
func randomDivided(rng *rand.Rand) *divided {
	d := &divided{turns: 1}
	lv, o, n := &d.lv, &d.o, 1+rng.IntN(80)
	o.Grace, o.Seed, o.Requests, o.Arrival, o.Smoothness = time.Minute, rng.Uint64(), n, load.Poisson, 1
	switch rng.IntN(7) {
	case 0: // all slots send at the same times
		*lv = load.Level{Mode: plan.Concurrency, Concurrency: 1 + rng.IntN(20)}
		if d.anyTime = rng.IntN(2) == 0; d.anyTime {
			o.Ramp = 60 * time.Millisecond
		}
		o.Warmup = load.Warmup{Requests: rng.IntN(9), Grace: time.Minute}
	case 1: // whole conversations
		*lv = load.Level{Mode: plan.Concurrency, Concurrency: 1 + rng.IntN(20)}
		o.Requests, o.Sessions, d.turns, o.Prefill, d.anyTime = 0, n, 1+rng.IntN(4), rng.IntN(5), true
	case 2:
		*lv = load.Level{Mode: plan.RequestRate, Rate: 20 + 200*rng.Float64(), Users: 1 + rng.IntN(20)}
		d.anyText = true
	case 3:
		*lv = load.Level{Mode: plan.FixedSchedule, Concurrency: rng.IntN(3) * 30}
	case 4:
		*lv = load.Level{Mode: plan.Concurrency, Stages: []pace.Stage{{From: 1, To: 12, Time: 505 * time.Millisecond}, {From: 3, To: 3, Time: 200 * time.Millisecond}}}
		o.Requests, d.turns, d.anyText = 0, 1+rng.IntN(2), true
	default:
		*lv = load.Level{Mode: plan.RequestRate, Rate: 20 + 200*rng.Float64()}
		o.Arrival, o.Smoothness = []load.Arrival{load.Constant, load.Poisson, load.Gamma}[rng.IntN(3)], 0.5+rng.Float64()
		o.Ramp = time.Duration(rng.IntN(2)) * 300 * time.Millisecond
		o.Warmup = load.Warmup{Requests: rng.IntN(9), Grace: time.Minute}
	}
	return d
}

// ask runs a segment of a load and returns its requests.
func (d *divided) ask(t *testing.T, part segment.Segment) (list []asked) {
	lv, o := d.lv, d.o
	s := &server{first: 1370001, gap: 1, tokens: 2}
	cfg := config(t, s, -1)
	cfg.Options, cfg.Options.Segment = o, part
	cfg.Open = func() (load.Source, error) {
		p := prompts{left: -1, turns: slices.Repeat([]llm.Turn{{Texts: []string{"hello"}, MaxTokens: 2}}, d.turns)}
		if lv.Mode == plan.FixedSchedule {
			return &timetable{p}, nil
		}
		return &p, nil
	}
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		start := clock.Now()
		begun := start + int64(3*time.Second) // all segments begin together
		end := begun + int64(pace.Length(lv.Stages)-5*time.Millisecond)
		cfg.Sample = func(x *llm.Sample) {
			if len(lv.Stages) == 0 || x.Due < end {
				list = append(list, asked{x.Due - start, x.Conversation, x.Turn, x.Warmup})
			}
		}
		cfg.Measured = func() { clock.SleepUntil(ctx, begun) }
		out, err := load.Run(ctx, ctx, cfg, lv)
		if err != nil || out.Stopped != "" {
			t.Fatalf("segment %v: %v, %+v", part, err, out)
		}
		if most := s.mostPrefill.Load(); o.Prefill > 0 && most > int64(max(1, part.Share(o.Prefill))) {
			t.Errorf("segment %v: %d requests waited for their first token, of %d allowed in all", part, most, o.Prefill)
		}
	})
	return list
}

// A segment without work is idle and ends at once.
func TestSegmentWithoutConversationsIsIdle(t *testing.T) {
	f := func(lv load.Level, edit func(*load.Options)) {
		t.Helper()
		s := &server{first: time.Millisecond, tokens: 1}
		cfg := config(t, s, -1)
		cfg.Options.Segment, cfg.Options.Requests = segment.Segment{Index: 4, Of: 5}, 100
		edit(&cfg.Options)
		out := runLevel(t, cfg, lv)
		if !out.Level.Idle || out.Stopped != "" || s.sent.Load() > 0 {
			t.Errorf("%s: idle %v, %q, %d requests", lv.String(), out.Level.Idle, out.Stopped, s.sent.Load())
		}
	}
	f(load.Level{Mode: plan.Concurrency, Concurrency: 4}, func(*load.Options) {})
	f(load.Level{Mode: plan.Concurrency, Concurrency: 9}, func(o *load.Options) { o.Requests = 4 })
	f(load.Level{Mode: plan.Concurrency, Concurrency: 9}, func(o *load.Options) { o.Prefill = 3 })
	f(load.Level{Mode: plan.RequestRate, Rate: 100, Concurrency: 2}, func(o *load.Options) { o.Duration = time.Minute })
	f(load.Level{Mode: plan.RequestRate, Rate: 100, Users: 3}, func(*load.Options) {})
}
