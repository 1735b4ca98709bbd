package stress_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
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

// options are small enough for a test, with a missing START often enough to matter, and without a limit of time that
// a busy machine could miss.
func options(t *testing.T, args ...string) *stress.Plan {
	t.Helper()
	o, err := stress.Parse(append([]string{"m", "-r", "1", "-t", "4", "-i", "10", "--timeout", "0", "--weights", "valid=60,valid-valid=10,valid-no-end=5,no-end=5,no-start=20"}, args...), time.Unix(1, 0), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func run(t *testing.T, addr string, o *stress.Plan, change func(*stress.Config)) (*stress.Summary, *watcher) {
	t.Helper()
	s, w, err := try(t, addr, o, change)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// try makes a run, which may fail.
func try(t *testing.T, addr string, o *stress.Plan, change func(*stress.Config)) (*stress.Summary, *watcher, error) {
	t.Helper()
	target := plan.Target{Kind: plan.Triton, Protocol: plan.GRPC, URL: addr, Model: o.Target.Model, Connections: o.Target.Connections, Streaming: !o.Unary}
	w := &watcher{}
	cfg := stress.Config{Plan: o, Observer: w}
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
		cfg.Train = svc.Train
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
	return s, w, err
}

// A server that never answers ends a run that has no limit of time, and the error says what it waited for.
func TestAServerWithoutASignOfLifeEndsTheRun(t *testing.T) {
	for _, args := range [][]string{{"--timeout", "0"}, {"--timeout", "0", "--unary"}} {
		server := sums.Start(t, sums.Faults{Hang: func(sums.Request) bool { return true }})
		sum, _, err := try(t, server.Addr, options(t, args...), func(c *stress.Config) { c.Patience = time.Second })
		if stall, ok := errors.AsType[*engine.StallError](err); !ok || stall.For != time.Second {
			t.Errorf("%v: the run ends with %v", args, err)
		}
		if text := sum.Text(); strings.Contains(text, "\nPassed: ") || sum.Error == "" {
			t.Errorf("%v: the error is %q\n%s", args, sum.Error, text)
		}
	}
}

func TestARightServerPasses(t *testing.T) {
	for _, args := range [][]string{nil, {"--unary"}, {"--string-ids"}, {"--string-ids", "--unary"}, {"--overlap", "10"}, {"--back-to-back"}} {
		s := sums.Start(t, sums.Faults{})
		sum, _ := run(t, s.Addr, options(t, args...), nil)
		tally := sum.Tally
		if !sum.Passed() || tally.Ended != 4*10 || tally.RefusedExpected == 0 || tally.RefusedAsExpected != tally.RefusedExpected {
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

// A server that forgets idle sequences is right. Each sequence has three requests and one more after the pause, which
// is at least as long as requested.
func TestAnIdleSequenceIsForgotten(t *testing.T) {
	const pause = 20 * time.Millisecond
	var mu sync.Mutex
	last := map[string]time.Time{}
	s := sums.Start(t, sums.Faults{Forget: func(r sums.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		idle := time.Since(last[r.ID])
		last[r.ID] = time.Now()
		if r.Position == 4 && idle < pause {
			t.Errorf("sequence %s was left alone for %s, want at least %s", r.ID, idle, pause)
		}
		return r.Position == 4
	}})
	sum, _ := run(t, s.Addr, options(t, "-i", "4", "--weights", "idle=1", "--rare", "0", "--length-mean", "3", "--length-deviation", "0", "--idle-time", pause.String()), nil)
	if !sum.Passed() || sum.Patterns["idle"]["common"] != 16 || sum.Tally.RefusedAsExpected != 16 {
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
	broken := sums.Start(t, sums.Faults{OffBy: oneAt(sums.At{ID: "101", Sequence: 1, Position: 2})})
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
	if len(w.lines) < 300 || w.lines[0] != "Starting thread thread_0 with seed 1791095845" {
		t.Errorf("%d lines, the first %q", len(w.lines), w.lines[0])
	}
}
