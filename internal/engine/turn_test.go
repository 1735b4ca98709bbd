package engine_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// chain is a source of a state that is begun and must be ended, and writes down whose turn it was.
type chain struct {
	log    *turnLog
	source int
	count  int
	begun  bool
}

type turnLog struct {
	mu       sync.Mutex
	sources  []int // whose turn it was
	closed   []int // whose state was ended
	slots    map[int][]int
	restarts int
}

func (c *chain) Next(call *service.Call) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.begun = true
	c.count++
	c.log.sources = append(c.log.sources, c.source)
	c.log.slots[c.source] = append(c.log.slots[c.source], call.Slot)
}

func (c *chain) Close(call *service.Call) bool {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if !c.begun {
		return false
	}
	c.begun = false
	c.log.closed = append(c.log.closed, c.source)
	c.log.slots[c.source] = append(c.log.slots[c.source], call.Slot)
	return true
}

func (c *chain) Restart() { c.log.restarts++ }

// tracked is a service whose transport keeps calls in order.
type tracked struct {
	testkit.Service
	tracks int
}

type trackedTransport struct {
	service.Transport
	svc *tracked
}

func (s *tracked) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	tr, err := s.Service.Open(ctx, sink)
	return &trackedTransport{tr, s}, err
}

func (t *trackedTransport) Tracks(n int) { t.svc.tracks = n }

func chains(t *testing.T, svc service.Service, cfg engine.Config) (*testEngine, *turnLog) {
	t.Helper()
	log := &turnLog{slots: map[int][]int{}}
	sources := map[int]*chain{}
	cfg.Source = func(i, _ int) engine.Source {
		if sources[i] == nil {
			sources[i] = &chain{log: log, source: i}
		}
		return sources[i]
	}
	return open(t, svc, cfg), log
}

// play carries out a load that ends by itself.
func play(t *testing.T, e *testEngine, l engine.Loop) {
	t.Helper()
	start(t, e, l)
	finished(t, e)
	e.Stop()
}

func at(delay time.Duration) func(int64) (time.Duration, error) {
	return func(int64) (time.Duration, error) { return delay, nil }
}

// What perf_analyzer sends with five sequences on two threads, by a capture: the thread goes by the schedule, which
// has five places, the sequence by chance, and each thread sends half of the requests.
func TestSequencesTakeTurnsAsInPerfAnalyzer(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		want := []int{0, 3, 0, 3, 2, 1, 4, 1, 3, 0, 0, 4, 2, 3, 2, 2, 3, 4, 4, 4}
		for range 2 { // another load begins anew
			e, log := chains(t, &testkit.Service{Answer: at(0)}, engine.Config{})
			play(t, e, &engine.Paced{Schedule: pace.Constant(5000), Sources: 5, Workers: 2, Order: engine.Random, Slots: 16, Cap: 64, Limit: 20})
			if diff := cmp.Diff(want, log.sources); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestWorkersOfSources(t *testing.T) {
	f := func(sources, workers int, want ...int) {
		t.Helper()
		var got []int
		for i := range sources {
			got = append(got, engine.WorkerOf(i, sources, workers))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	f(5, 2, 0, 0, 0, 1, 1)
	f(4, 4, 0, 1, 2, 3)
	f(2, 4, 0, 1)
	f(3, 1, 0, 0, 0)
	f(7, 3, 0, 0, 0, 1, 1, 2, 2)
}

// Without waiting for answers, requests of one source stay on one track, and what ends its state comes last.
func TestOrderedRequestsStayOnTheirTrack(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		gate := make(chan struct{})
		svc := &tracked{Service: testkit.Service{Answer: func(int64) (time.Duration, error) { <-gate; return 0, nil }}}
		e, log := chains(t, svc, engine.Config{})
		const limit = 40
		start(t, e, &engine.Paced{
			Schedule: pace.Constant(5000), Sources: 3, Workers: 2, Order: engine.Random, Ordered: true, Slots: 4, Cap: 1000, Limit: limit,
		})
		time.Sleep(time.Second) // all that is due has been sent
		synctest.Wait()
		close(gate)
		finished(t, e)
		e.Stop()
		if svc.tracks != 3 || svc.MostInFlight() != limit+3 {
			t.Errorf("%d tracks, %d in flight, want 3 and %d", svc.tracks, svc.MostInFlight(), limit+3)
		}
		for source, slots := range log.slots {
			for _, slot := range slots {
				if slot%3 != source {
					t.Errorf("a request of source %d went to slot %d", source, slot)
				}
			}
		}
		if diff := cmp.Diff([]int{0, 1, 2}, log.closed); diff != "" {
			t.Error(diff)
		}
		measured := 0
		for _, r := range records(e) {
			if r.Flags&record.Closing == 0 {
				measured++
			}
		}
		if measured != limit {
			t.Errorf("%d measured requests, want %d", measured, limit)
		}
	})
}

// A thread that waits for its answers has one request in flight, sends its share, and ends all that it has begun, also
// when there are more sequences than requests can be in flight.
func TestBlockingWorkers(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: at(2 * time.Millisecond)}
		e, log := chains(t, svc, engine.Config{})
		play(t, e, &engine.Paced{Schedule: pace.Constant(5000), Sources: 5, Workers: 2, Order: engine.Blocking, Slots: 2, Cap: 2, Limit: 21})
		if most := svc.MostInFlight(); most > 2 {
			t.Errorf("%d in flight on two threads", most)
		}
		var sent [2]int
		begun := map[int]bool{}
		for _, source := range log.sources {
			sent[engine.WorkerOf(source, 5, 2)]++
			begun[source] = true
		}
		if sent != [2]int{11, 10} {
			t.Errorf("the threads sent %v", sent)
		}
		if len(log.closed) != len(begun) {
			t.Errorf("ended %v, begun %v", log.closed, begun)
		}
	})
}

func TestPartsOfALimit(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		for _, c := range []struct {
			parts int
			want  [5]int
		}{{5, [5]int{4, 4, 4, 3, 3}}, {1, [5]int{}}, {0, [5]int{}}} {
			svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) { return time.Duration(n%5) * time.Millisecond, nil }}
			e, log := chains(t, svc, engine.Config{})
			play(t, e, &engine.Closed{Concurrency: 5, Limit: 18, LimitParts: c.parts})
			var got [5]int
			for _, slot := range log.sources {
				got[slot]++
			}
			if len(log.sources) != 18 || c.want[0] > 0 && got != c.want {
				t.Errorf("%d parts: %v", c.parts, got)
			}
		}
	})
}

func TestRestartReachesAllSources(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		e, log := chains(t, &testkit.Service{Answer: at(0)}, engine.Config{})
		play(t, e, &engine.Closed{Concurrency: 3, Limit: 30})
		e.Restart()
		if log.restarts != 3 {
			t.Errorf("%d sources of a closed loop were told", log.restarts)
		}
		e, log = chains(t, &testkit.Service{Answer: at(0)}, engine.Config{})
		play(t, e, &engine.Paced{Schedule: pace.Constant(5000), Sources: 4, Slots: 4, Cap: 4, Limit: 8})
		e.Restart()
		if log.restarts != 4 {
			t.Errorf("%d sources of an open loop were told", log.restarts)
		}
	})
}

// Which sequence comes next is drawn on from level to level, and from the beginning after a warm-up.
func TestDrawsGoOnFromLoadToLoad(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		load := func(n int) engine.Loop {
			return &engine.Paced{Schedule: pace.Constant(1e5), Sources: 2, Workers: 1, Order: engine.Random, Slots: 8, Cap: 8, Limit: n}
		}
		svc := &testkit.Service{Answer: at(0)}
		e, log := chains(t, svc, engine.Config{})
		for _, n := range []int{3, 4, 3} {
			play(t, e, load(n))
		}
		e.Restart()
		play(t, e, load(5))
		want := []int{0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1}
		if diff := cmp.Diff(want, log.sources); diff != "" {
			t.Error(diff)
		}
	})
}
