package stress_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/stress"
	"github.com/redline-bench/redline/internal/testkit/sums"
)

func TestDisturbancesAreNoFailures(t *testing.T) {
	away := func(r sums.Request) bool { return r.N%200 > 180 }
	sum, _ := run(t, sums.Start(t, sums.Faults{Away: away}).Addr, options(t, "--disturbed"), nil)
	if !sum.Passed() || sum.Tally.Disturbed == 0 || sum.Tally.Ended != 40 {
		t.Error(sum.Text())
	}
	// A wrong sum is a failure, disturbed or not.
	sum, _ = run(t, sums.Start(t, sums.Faults{Away: away, OffBy: one}).Addr, options(t, "--disturbed"), nil)
	if sum.Passed() || sum.Tally.Faults[stress.WrongAnswer] == 0 {
		t.Error(sum.Text())
	}
}

// Connections are cut within sequences, and the run continues. The server cuts the connection of the request
// that it has; the time of --cut never comes.
func TestCutConnections(t *testing.T) {
	for _, args := range [][]string{nil, {"--unary"}} {
		var cutter *stress.Cutter
		cuts := 0
		s := sums.Start(t, sums.Faults{Before: func(ctx context.Context, _ *sums.Server, r sums.Request) {
			if r.N%100 == 10 {
				cuts++
				for range 10 { // there is one connection for the load, and there may be another
					cutter.Cut(rand.New(rand.NewPCG(1, 1)))
				}
				<-ctx.Done()
			}
		}})
		cutter = newCutter(t, s.Addr)
		o := options(t, append(args, "-t", "1", "--cut", "1h")...)
		sum, _ := run(t, cutter.Addr(), o, func(c *stress.Config) { c.Cutter = cutter })
		if !sum.Passed() || cuts == 0 || sum.Cuts < cuts || sum.Tally.Disturbed < cuts || sum.Tally.Checked == 0 || sum.Tally.Ended != 10 {
			t.Errorf("%d cuts\n%s", cuts, sum.Text())
		}
	}
}

// With --cut connections are cut by time: the first request is answered by nothing else.
func TestCutsByTime(t *testing.T) {
	s := sums.Start(t, sums.Faults{Hang: func(r sums.Request) bool { return r.N == 1 }})
	cutter := newCutter(t, s.Addr)
	sum, _ := run(t, cutter.Addr(), options(t, "-t", "1", "-i", "2", "--cut", "5ms"), func(c *stress.Config) { c.Cutter = cutter })
	if !sum.Passed() || sum.Cuts == 0 || sum.Tally.Disturbed == 0 || sum.Tally.Ended != 2 {
		t.Error(sum.Text())
	}
}

func newCutter(t *testing.T, target string) *stress.Cutter {
	t.Helper()
	c, err := stress.NewCutter(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// control counts, and calls a function after the third unloading.
type control struct {
	loads, unloads int
	err            error
	third          func()
}

func (c *control) Load(context.Context) error { c.loads++; return nil }

func (c *control) Unload(context.Context) error {
	if c.unloads++; c.unloads == 3 {
		c.third()
	}
	return c.err
}

func TestChaosLeavesTheModelLoaded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &control{third: cancel}
	n, err := stress.Unload(ctx, c, time.Millisecond, time.Millisecond)
	if err != nil || n != 3 || c.loads != 3 || c.unloads != 3 {
		t.Errorf("%d, %v, %+v", n, err, c)
	}
	c = &control{err: errors.New("not allowed")}
	if n, err := stress.Unload(t.Context(), c, 0, 0); err == nil || n != 0 || c.loads != 1 {
		t.Errorf("%d, %v, %+v", n, err, c)
	}
}

func TestCutterWithNothingToCut(t *testing.T) {
	newCutter(t, "127.0.0.1:1").Cut(rand.New(rand.NewPCG(1, 1)))
}

// late obeys a canceled call to unload the model after the next call to load it, as a server can.
type late struct {
	end              context.CancelFunc // of the run
	loaded, unloaded bool
}

func (l *late) Unload(ctx context.Context) error {
	l.end()
	if ctx.Err() != nil {
		l.unloaded = true
		return ctx.Err()
	}
	l.loaded = false
	return nil
}

func (l *late) Load(context.Context) error {
	l.loaded = !l.unloaded
	return nil
}

// A run that ends while the model is being unloaded leaves the model loaded.
func TestTheModelIsLoadedAtTheEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	l := &late{end: end, loaded: true}
	if n, err := stress.Unload(ctx, l, time.Millisecond, time.Millisecond); n != 1 || err != nil || !l.loaded {
		t.Errorf("unloaded %d times (%v), loaded at the end: %v", n, err, l.loaded)
	}
}
