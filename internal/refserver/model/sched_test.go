package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// gate is an instance whose executions wait until the test lets them go.
type gate struct {
	mu      sync.Mutex
	batches [][]string
	entered chan struct{}
	open    chan struct{}
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 100), open: make(chan struct{})} }

func (g *gate) Execute(_ context.Context, jobs []*backend.Job) {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	g.mu.Lock()
	g.batches = append(g.batches, ids)
	g.mu.Unlock()
	g.entered <- struct{}{}
	<-g.open
	for _, j := range jobs {
		j.Send()
	}
}

func setup(t *testing.T, cfg *kserve.ModelConfig, instances ...backend.Instance) *runner {
	t.Helper()
	clock := pause.NewByTimers()
	t.Cleanup(clock.Close)
	return newRunner(&Model{Config: cfg, Version: 1, Counters: newCounters("m", "1")}, clock, instances)
}

// sent collects the responses of requests.
type sent struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs map[string]error
}

func (s *sent) request(id string) *infer.Request {
	s.wg.Add(1)
	return &infer.Request{ID: id, Batch: 1, Received: time.Now(), Reply: func(r *infer.Response) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.errs == nil {
			s.errs = map[string]error{}
		}
		s.errs[id] = r.Err
		if r.Final {
			s.wg.Done()
		}
	}}
}

func dynamic(d *kserve.ModelDynamicBatching) *kserve.ModelConfig {
	return &kserve.ModelConfig{Name: "m", MaxBatchSize: 4, SchedulingChoice: &kserve.ModelConfig_DynamicBatching{DynamicBatching: d}}
}

func TestPoolBatchesWhatWaits(t *testing.T) {
	g := newGate()
	p := newPool(setup(t, dynamic(&kserve.ModelDynamicBatching{}), g))
	var s sent
	enqueue := func(id string) {
		if err := p.enqueue(s.request(id)); err != nil {
			t.Fatal(err)
		}
	}
	enqueue("0")
	<-g.entered // the instance is busy: the others must wait for each other
	for i := 1; i <= 6; i++ {
		enqueue(fmt.Sprint(i))
	}
	close(g.open)
	s.wg.Wait()
	p.close()
	if got := fmt.Sprint(g.batches); got != "[[0] [1 2 3 4] [5 6]]" {
		t.Errorf("batches %s", got)
	}
}

func TestPoolQueueLimits(t *testing.T) {
	g := newGate()
	p := newPool(setup(t, dynamic(&kserve.ModelDynamicBatching{DefaultQueuePolicy: &kserve.ModelQueuePolicy{MaxQueueSize: 2}}), g))
	var s sent
	for i := range 3 {
		if err := p.enqueue(s.request(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-g.entered
		}
	}
	if err := p.enqueue(s.request("full")); err == nil || !strings.Contains(err.Error(), "the queue of model 'm' is full: 2 requests wait") {
		t.Errorf("got %v", err)
	}
	s.wg.Done()
	close(g.open)
	s.wg.Wait()
	p.close()
	if _, failures, _ := p.Counters.Snapshot(); failures[Rejected] != 1 {
		t.Errorf("failures %v, want one rejected", failures)
	}
}

// A request whose client has gone before it ran does not run.
func TestPoolDropsRequestsOfGoneClients(t *testing.T) {
	g := newGate()
	p := newPool(setup(t, dynamic(&kserve.ModelDynamicBatching{}), g))
	var s sent
	gone, cancel := context.WithCancel(t.Context())
	for i := range 3 {
		r := s.request(fmt.Sprint(i))
		if i == 1 {
			r.Context = gone
		}
		if err := p.enqueue(r); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-g.entered
		}
	}
	cancel()
	close(g.open)
	s.wg.Wait()
	p.close()
	if got := fmt.Sprint(g.batches); got != "[[0] [2]]" || s.errs["1"] == nil {
		t.Errorf("batches %s, error %v", got, s.errs["1"])
	}
}

func TestFormWaitsForPreferredSizes(t *testing.T) {
	now := time.Now()
	aged := func(age time.Duration, width int64) *infer.Request {
		return &infer.Request{Queued: now.Add(-age), Batch: 1, Inputs: []tensor.Tensor{{Name: "A", Shape: tensor.Shape{1, width}}}}
	}
	ms := time.Millisecond
	r := newRule(&kserve.ModelConfig{
		MaxBatchSize: 8, Input: []*kserve.ModelInput{{Name: "A"}},
		SchedulingChoice: &kserve.ModelConfig_DynamicBatching{DynamicBatching: &kserve.ModelDynamicBatching{PreferredBatchSize: []int32{2, 4}, MaxQueueDelayMicroseconds: 5000}},
	})
	for _, c := range []struct {
		name  string
		queue []*infer.Request
		n     int
		wait  time.Duration
	}{
		{"nothing", nil, 0, 0},
		{"one waits for a second", []*infer.Request{aged(ms, 1)}, 0, 4 * ms},
		{"two are preferred", []*infer.Request{aged(ms, 1), aged(0, 1)}, 2, 0},
		{"three: two go", []*infer.Request{aged(ms, 1), aged(0, 1), aged(0, 1)}, 2, 0},
		{"the oldest has waited enough", []*infer.Request{aged(6*ms, 1), aged(0, 1), aged(0, 1)}, 3, 0},
		{"another shape cannot join", []*infer.Request{aged(ms, 1), aged(0, 2)}, 1, 0},
	} {
		if n, wait := r.form(c.queue, now); n != c.n || wait != c.wait {
			t.Errorf("%s: %d after %v, want %d after %v", c.name, n, wait, c.n, c.wait)
		}
	}
}

func sequences(batch int32, seq *kserve.ModelSequenceBatching) *kserve.ModelConfig {
	return &kserve.ModelConfig{Name: "m", MaxBatchSize: batch, SchedulingChoice: &kserve.ModelConfig_SequenceBatching{SequenceBatching: seq}}
}

func TestSequenceSlotsAndBacklog(t *testing.T) {
	g := newGate()
	close(g.open)
	q := newSequence(setup(t, sequences(1, &kserve.ModelSequenceBatching{MaxSequenceIdleMicroseconds: 60_000_000}), g))
	var s sent
	send := func(id string, seq uint64, start, end bool) {
		r := s.request(id)
		r.Sequence = infer.Sequence{ID: seq, Start: start, End: end}
		if err := q.enqueue(r); err != nil {
			t.Fatal(err)
		}
	}
	send("a1", 1, true, false)
	send("b1", 2, true, false) // no slot: backlog
	send("b2", 2, false, true)
	send("a2", 1, false, false)
	send("a3", 1, false, true)
	s.wg.Wait()
	q.close()
	var order []string
	for _, b := range g.batches {
		order = append(order, b...)
	}
	if want := []string{"a1", "a2", "a3", "b1", "b2"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestIdleSequenceLosesItsSlot(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		g := newGate()
		close(g.open)
		q := newSequence(setup(t, sequences(1, &kserve.ModelSequenceBatching{MaxSequenceIdleMicroseconds: 1000}), g))
		defer q.close()
		var s sent
		for id, seq := range map[string]uint64{"a": 1, "b": 2} { // neither ends; the second gets the slot when the first is idle
			r := s.request(id)
			r.Sequence = infer.Sequence{ID: seq, Start: true}
			if err := q.enqueue(r); err != nil {
				t.Fatal(err)
			}
		}
		s.wg.Wait()
	})
}
