package workload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/workload"
)

// ids asks the sources of some slots for so many requests each, in turn, and returns the threads and counts of their ids.
func ids(f *workload.Sources, slots, rounds int) [][2]uint64 {
	var out [][2]uint64
	var call service.Call
	for range rounds {
		for slot := range slots {
			f.Source(slot, slots).Next(&call)
			out = append(out, [2]uint64{call.Vars.ID >> 48, call.Vars.ID & (1<<48 - 1)})
		}
	}
	return out
}

// Request ids are those of perf_analyzer's threads, by captures of what it sends.
func TestIDsOfThreads(t *testing.T) {
	model := &service.Model{Inputs: []service.TensorSpec{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{1}}}}
	stateful := *model
	stateful.Scheduler = service.SequenceBatcher
	threads := true
	f := func(name string, m *service.Model, load plan.Load, slots, rounds int, want ...[2]uint64) {
		t.Helper()
		in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 20, SequenceStartID: 1, SequenceIDRange: 1 << 31, Sequences: slots}
		d, err := workload.Load(in, m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := workload.Prepare(t.Context(), &testkit.Service{}, d)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan.Plan{Load: load, Input: in, Policies: plan.Policies{PerThread: threads}}
		if diff := cmp.Diff(want, ids(workload.NewSources(r, m, p, true, engine.WorkerOf), slots, rounds)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	closed := plan.Load{Mode: plan.Concurrency, MaxThreads: 2}
	closed.Concurrency.Start, closed.Concurrency.End = 3, 3
	few := closed
	few.MaxThreads = 16
	rate := plan.Load{Mode: plan.RequestRate, MaxThreads: 2}
	f("as many threads as slots", model, few, 3, 2, [2]uint64{0, 0}, [2]uint64{1, 0}, [2]uint64{2, 0}, [2]uint64{0, 1}, [2]uint64{1, 1}, [2]uint64{2, 1})
	f("slots share threads", model, closed, 3, 2, [2]uint64{0, 0}, [2]uint64{1, 0}, [2]uint64{0, 1}, [2]uint64{0, 2}, [2]uint64{1, 1}, [2]uint64{0, 3})
	threads = false
	f("slots on their own", model, closed, 3, 1, [2]uint64{0, 0}, [2]uint64{1, 0}, [2]uint64{2, 0})
	threads = true
	f("sequences in closed loop", &stateful, closed, 3, 2, [2]uint64{0, 0}, [2]uint64{1, 0}, [2]uint64{0, 0}, [2]uint64{0, 1}, [2]uint64{1, 1}, [2]uint64{0, 1})
	f("sequences in open loop", &stateful, rate, 3, 2, [2]uint64{0, 0}, [2]uint64{0, 0}, [2]uint64{1, 0}, [2]uint64{0, 1}, [2]uint64{0, 1}, [2]uint64{1, 1})
}

// The steps of a schedule go to the threads in turn, each once: the warm-up takes the first ones, the load those after.
func TestStepsOfASchedule(t *testing.T) {
	model := &service.Model{Inputs: []service.TensorSpec{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{1}}}}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte(`{"data":[`+strings.Repeat(`{"IN":[1]},`, 6)+`{"IN":[1]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := plan.Input{Batch: 1, Source: plan.JSONFiles, Paths: []string{file}}
	d, err := workload.Load(in, model)
	if err != nil {
		t.Fatal(err)
	}
	r, err := workload.Prepare(t.Context(), &testkit.Service{}, d)
	if err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Load: plan.Load{Mode: plan.FixedSchedule, MaxThreads: 2}, Input: in}
	p.Measure.WarmupCount = 3
	f := workload.NewSources(r, model, p, true, engine.WorkerOf)
	var steps []uint32
	for _, n := range []int{3, 4} {
		a, b := f.Source(0, 2), f.Source(1, 2)
		for i := range n {
			var call service.Call
			[]workload.Source{a, b}[i%2].Next(&call)
			steps = append(steps, call.Rec.Step)
		}
	}
	if diff := cmp.Diff([]uint32{0, 1, 2, 3, 4, 5, 6}, steps); diff != "" {
		t.Error(diff)
	}
}
