package stress_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/service/kserve/train"
	"github.com/redline-bench/redline/internal/stress"
	"github.com/redline-bench/redline/internal/testkit/sums"
)

// watcher keeps what it is told.
type watcher struct {
	mu    sync.Mutex
	lines []string
	faces []*stress.Failure
}

func (w *watcher) Line(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, text)
}

func (w *watcher) Failed(f *stress.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faces = append(w.faces, f)
}

func (w *watcher) Progress(stress.Progress) {}

// options are small enough for a test, with a missing START often enough to matter.
func options(t *testing.T, args ...string) *stress.Options {
	t.Helper()
	o, err := stress.Parse(append([]string{"m", "-r", "1", "-t", "4", "-i", "25", "--weights", "valid=60,valid-valid=10,valid-no-end=5,no-end=5,no-start=20"}, args...), time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func one(int) int32 { return 1 }

// only is true for one request.
func only(which int) func(int) bool { return func(n int) bool { return n == which } }

// oneAt adds one to the answer to one request.
func oneAt(which int) func(int) int32 {
	return func(n int) int32 {
		if n == which {
			return 1
		}
		return 0
	}
}

func run(t *testing.T, addr string, o *stress.Options, change func(*stress.Config)) (*stress.Summary, *watcher) {
	t.Helper()
	target := plan.Target{Kind: plan.Triton, Protocol: plan.GRPC, URL: addr, Model: o.Model, Connections: 2, Streaming: !o.Unary}
	w := &watcher{}
	cfg := stress.Config{Options: o, Observer: w}
	if o.Unary {
		svc, err := rpc.New(target, plan.Input{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Service = svc
	} else {
		svc, err := train.New(target, plan.Input{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Service = svc
		cfg.Train = func(cars []stress.Car) (service.Request, error) {
			list := make([]train.Car, len(cars))
			for i, c := range cars {
				list[i] = train.Car(c)
			}
			return svc.Train(list)
		}
	}
	defer cfg.Service.Close()
	m, err := cfg.Service.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Model = m
	if change != nil {
		change(&cfg)
	}
	s, err := stress.Run(t.Context(), t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

func TestARightServerPasses(t *testing.T) {
	for _, args := range [][]string{nil, {"--unary"}, {"--string-ids"}, {"--string-ids", "--unary"}, {"--overlap", "10"}, {"--back-to-back"}} {
		s := sums.Start(t, sums.Faults{})
		sum, _ := run(t, s.Addr, options(t, args...), nil)
		tally := sum.Tally
		if !sum.Passed() || tally.Ended != 4*25 || tally.RefusedExpected == 0 || tally.RefusedAsExpected != tally.RefusedExpected {
			t.Errorf("%v:\n%s", args, sum.Text())
		}
		for id := range s.Seen() {
			if named := strings.HasPrefix(id, "sequence-"); named != slices.Contains(args, "--string-ids") {
				t.Errorf("%v: a sequence came as %q", args, id)
			}
		}
		if tally.Requests != uint64(s.Requests()) || tally.Checked+uint64(tally.RefusedAsExpected) != tally.Requests {
			t.Errorf("%v: %d sent, %d checked, the server saw %d", args, tally.Requests, tally.Checked, s.Requests())
		}
	}
}

// Each fault of a server ends the run in a failure that names it.
func TestFaultsAreNamed(t *testing.T) {
	f := func(fault stress.Fault, text string, faults sums.Faults, args ...string) {
		t.Helper()
		sum, w := run(t, sums.Start(t, faults).Addr, options(t, args...), nil)
		if sum.Passed() || sum.Tally.Faults[fault] == 0 {
			t.Errorf("%s was not found:\n%s", fault, sum.Text())
			return
		}
		i := slices.IndexFunc(w.faces, func(f *stress.Failure) bool { return f.Fault == fault })
		if i < 0 || !strings.Contains(w.faces[i].Text, text) {
			t.Errorf("no failure says %q", text)
			return
		}
		story := w.faces[i].Story()
		for _, part := range []string{"FAILED: " + string(fault), "START", "replay: redline stress sequence m -u", "--replay "} {
			if !strings.Contains(story, part) && (part != "START" || w.faces[i].Pattern != "no-start") {
				t.Errorf("the story lacks %q:\n%s", part, story)
			}
		}
	}
	f(stress.WrongAnswer, "which is +1", sums.Faults{OffBy: oneAt(1000)})
	// The answers of two sequences are exchanged while both are under way; or their sums are.
	alone := []string{"--common-contexts", "1", "--rare", "0", "--weights", "valid=1"}
	f(stress.Swapped, "that is a sum of sequence", sums.Faults{SwapAnswers: true}, alone...)
	f(stress.Swapped, "the value was added to a sum of sequence", sums.Faults{SwapSums: true}, alone...)
	f(stress.LostEnd, "the server went on with the sequence that had ended with", sums.Faults{KeepEnd: true})
	f(stress.StartIgnored, "without START was answered", sums.Faults{AnyStart: true})
	f(stress.Late, "no answer to request", sums.Faults{Hang: only(500)}, "--timeout", "1s", "--max-failures", "1000")
	f(stress.Refused, "the server refused a request: Request for unknown model", sums.Faults{Away: only(700)})
	f(stress.Late, "no answer to request", sums.Faults{Hang: only(500)}, "--timeout", "1s", "--max-failures", "1000", "--unary")
	f(stress.KeptIdle, "after a pause of 20ms", sums.Faults{}, "--weights", "valid=5,idle=5", "--idle-time", "20ms")
}

func TestAnIdleSequenceIsForgotten(t *testing.T) {
	s := sums.Start(t, sums.Faults{KeepFor: time.Second})
	sum, _ := run(t, s.Addr, options(t, "-i", "4", "--weights", "valid=5,idle=5", "--idle-time", "1200ms"), nil)
	if !sum.Passed() || sum.Patterns["idle"]["common"] == 0 || sum.Tally.RefusedAsExpected != sum.Patterns["idle"]["common"] {
		t.Error(sum.Text())
	}
}

// With the same seed each thread sends the same, whatever the timing.
func TestASeedRepeats(t *testing.T) {
	var all []map[string][]string
	for _, args := range [][]string{nil, {"--overlap", "5"}, {"--unary"}} {
		s := sums.Start(t, sums.Faults{})
		run(t, s.Addr, options(t, args...), nil)
		all = append(all, s.Seen())
	}
	for _, other := range all[1:] {
		if diff := cmp.Diff(all[0], other); diff != "" {
			t.Error(diff)
		}
	}
	s := sums.Start(t, sums.Faults{})
	run(t, s.Addr, options(t, "-r", "2"), nil)
	if cmp.Equal(all[0], s.Seen()) {
		t.Error("two seeds send the same")
	}
}

// The command of a failure sends what failed and nothing else.
func TestReplaySendsTheSequenceAgain(t *testing.T) {
	broken := sums.Start(t, sums.Faults{OffBy: oneAt(400)})
	_, w := run(t, broken.Addr, options(t), nil)
	if len(w.faces) != 1 {
		t.Fatalf("%d failures", len(w.faces))
	}
	fail := w.faces[0]
	right := sums.Start(t, sums.Faults{})
	command := strings.Fields(fail.Replay)[3:]
	o, err := stress.Parse(command, time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	sum, _ := run(t, right.Addr, o, nil)
	if !sum.Passed() || sum.Tally.Ended != 1 || len(right.Seen()) != 1 {
		t.Errorf("%s\n%v", sum.Text(), slices.Collect(maps.Keys(right.Seen())))
	}
	again := right.Seen()[fail.ID]
	for i, e := range fail.History {
		if want := fmt.Sprintf("%t %t %d", e.Step.Start, e.Step.End, e.Step.Value); again[i] != want {
			t.Errorf("request %d is %s, want %s", i+1, again[i], want)
		}
	}
}

func TestDisturbancesAreNoFailures(t *testing.T) {
	away := func(n int) bool { return n%200 > 180 }
	sum, _ := run(t, sums.Start(t, sums.Faults{Away: away}).Addr, options(t, "--disturbed"), nil)
	if !sum.Passed() || sum.Tally.Disturbed == 0 || sum.Tally.Ended != 100 {
		t.Error(sum.Text())
	}
	// A wrong sum is one, disturbed or not.
	sum, _ = run(t, sums.Start(t, sums.Faults{Away: away, OffBy: one}).Addr, options(t, "--disturbed"), nil)
	if sum.Passed() || sum.Tally.Faults[stress.WrongAnswer] == 0 {
		t.Error(sum.Text())
	}
}

// Connections are cut in the middle of sequences, and the run goes on.
func TestCutConnections(t *testing.T) {
	for _, args := range [][]string{nil, {"--unary"}} {
		s := sums.Start(t, sums.Faults{})
		cutter, err := stress.NewCutter(t.Context(), s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t, append(args, "--cut", "5ms", "-i", "0", "--duration", "500ms")...)
		sum, _ := run(t, cutter.Addr(), o, func(c *stress.Config) { c.Cutter = cutter })
		if !sum.Passed() || sum.Cuts < 5 || sum.Tally.Disturbed == 0 || sum.Tally.Checked == 0 {
			t.Error(sum.Text())
		}
		if err := cutter.Close(); err != nil {
			t.Error(err)
		}
	}
}

type control struct {
	loads, unloads int
	err            error
}

func (c *control) Load(context.Context) error   { c.loads++; return nil }
func (c *control) Unload(context.Context) error { c.unloads++; return c.err }

func TestChaosLeavesTheModelLoaded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := &control{}
	n, err := stress.Unload(ctx, c, time.Millisecond, time.Millisecond)
	if err != nil || n == 0 || c.loads != c.unloads || n != c.unloads {
		t.Errorf("%d, %v, %+v", n, err, c)
	}
	c = &control{err: errors.New("not allowed")}
	if n, err := stress.Unload(t.Context(), c, 0, 0); err == nil || n != 0 || c.loads != 1 {
		t.Errorf("%d, %v, %+v", n, err, c)
	}
}

func TestMaxFailuresEndsTheRun(t *testing.T) {
	s := sums.Start(t, sums.Faults{OffBy: one})
	sum, w := run(t, s.Addr, options(t, "-i", "0", "--duration", "1h", "--max-failures", "3"), nil)
	if sum.Passed() || len(w.faces) != 3 {
		t.Errorf("%d failures shown\n%s", len(w.faces), sum.Text())
	}
}

func TestVerboseLinesAreTheOriginals(t *testing.T) {
	_, w := run(t, sums.Start(t, sums.Faults{}).Addr, options(t, "-vv"), nil)
	shape := regexp.MustCompile(`^(Starting thread thread_\d with seed \d+|thread_\d \d+: (valid|no-end|no-start) seqlen = \d+|` +
		`thread_\d \d+: valid-(valid|no-end) seqlen\[0\] = \d+, seqlen\[1\] = \d+|thread_\d \d+: \+ \d+ = .+)$`)
	for _, line := range w.lines {
		if !shape.MatchString(line) {
			t.Fatalf("%q", line)
		}
	}
	if len(w.lines) < 500 || w.lines[0] != "Starting thread thread_0 with seed 1791095845" {
		t.Errorf("%d lines, the first %q", len(w.lines), w.lines[0])
	}
}

func TestCutterWithNothingToCut(t *testing.T) {
	c, err := stress.NewCutter(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	c.Cut(rand.New(rand.NewPCG(1, 1)))
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
