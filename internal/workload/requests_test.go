package workload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// numbered is a file whose steps are the numbers from 0 on, in streams of the given lengths.
func numbered(lengths ...int) string {
	n := 0
	var streams []string
	for _, length := range lengths {
		var steps []string
		for range length {
			steps = append(steps, fmt.Sprintf(`{"IN":[%d]}`, n))
			n++
		}
		streams = append(streams, "["+strings.Join(steps, ",")+"]")
	}
	if len(streams) == 1 {
		return `{"data":` + streams[0] + `}`
	}
	return `{"data":[` + strings.Join(streams, ",") + `]}`
}

func TestOrderOfTensors(t *testing.T) {
	_, got := prepare(t, load(t, plan.Input{Batch: 3, Source: plan.Zero}, pair(false, false)))
	want := []service.Inputs{{
		Tensors: []tensor.Tensor{
			{Name: "A", Type: tensor.Int32, Shape: tensor.Shape{3, 2}, Data: make([]byte, 24)},
			{Name: "B", Type: tensor.Int32, Shape: tensor.Shape{3, 2}, Data: make([]byte, 24)},
		},
		Outputs: []string{"O1", "O2"},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestNoBatchDimension(t *testing.T) {
	m := model(tensor.Int32, 2)
	m.MaxBatch = 0
	_, got := prepare(t, load(t, plan.Input{Batch: 1, Source: plan.Zero}, m))
	if d := cmp.Diff(tensor.Shape{2}, got[0].Tensors[0].Shape); d != "" {
		t.Error(d)
	}
}

func TestBatches(t *testing.T) {
	f := func(steps, batch int, want ...[]byte) {
		t.Helper()
		in := fromJSON(t, numbered(steps))
		in.Batch = batch
		r, got := prepare(t, load(t, in, model(tensor.Int32, 1)))
		var data [][]byte
		for i, g := range got {
			data = append(data, g.Tensors[0].Data)
			if g.Step != uint32(i) {
				t.Errorf("request %d has step %d", i, g.Step)
			}
			if d := cmp.Diff(g.Tensors, r.Inputs(g.Step)); d != "" {
				t.Errorf("inputs of request %d: %s", i, d)
			}
		}
		if d := cmp.Diff(want, data); d != "" {
			t.Errorf("%d steps in batches of %d: %s", steps, batch, d)
		}
		if r.Len() != len(want) || r.Batch() != batch {
			t.Errorf("%d requests of %d", r.Len(), r.Batch())
		}
	}
	f(3, 1, ints(0), ints(1), ints(2))
	f(4, 2, ints(0, 1), ints(2, 3))
	f(3, 2, ints(0, 1), ints(2, 0), ints(1, 2))
	f(2, 4, ints(0, 1, 0, 1))
	f(1, 2, ints(0, 0))
}

func TestBatchErrors(t *testing.T) {
	f := func(m *service.Model, text, want string) {
		t.Helper()
		in := fromJSON(t, text)
		in.Batch = 2
		_, err := workload.Prepare(t.Context(), &fake{}, load(t, in, m))
		var e *workload.DataError
		if !errors.As(err, &e) || said(err) != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	f(model(tensor.FP32, -1), `{"data":[{"IN":{"content":[1.0],"shape":[1]}},{"IN":{"content":[1.0,2.0],"shape":[2]}}]}`,
		"input IN has the shapes [1] and [2], which cannot be in one batch: use -b 1")
	const sets = "the requests of one batch must have data for the same inputs: use -b 1, or give the same optional inputs in every step"
	f(pair(true, false), `{"data":[{"A":[1,2],"B":[1,2]},{"B":[1,2]}]}`, sets)
	f(pair(true, false), `{"data":[{"B":[1,2]},{"A":[1,2],"B":[1,2]}]}`, sets)
	f(pair(false, true), `{"data":[{"A":[1,2],"B":[1,2]},{"A":[1,3],"B":[1,2]}]}`, "shape tensors of one batch must be equal, but their values differ")
	words := pair(false, true)
	words.Inputs[1].Type = tensor.Bytes
	f(words, `{"data":[{"A":["a","b"],"B":[1,2]},{"A":["a","bc"],"B":[1,2]}]}`, "shape tensors of one batch must be equal, but their sizes differ")
}

func TestShapeTensorsAndOptionalInputs(t *testing.T) {
	in := fromJSON(t, `{"data":[{"A":[1,2],"B":[3,4]},{"A":[1,2],"B":[5,6]}]}`)
	in.Batch = 2
	_, got := prepare(t, load(t, in, pair(false, true)))
	want := []tensor.Tensor{
		{Name: "A", Type: tensor.Int32, Shape: tensor.Shape{2}, Data: ints(1, 2)},
		{Name: "B", Type: tensor.Int32, Shape: tensor.Shape{2, 2}, Data: ints(3, 4, 5, 6)},
	}
	if d := cmp.Diff(want, got[0].Tensors); d != "" {
		t.Error(d)
	}
	in = fromJSON(t, `{"data":[{"B":[3,4]},{"A":[1,2],"B":[5,6]}]}`)
	_, got = prepare(t, load(t, in, pair(true, false)))
	if len(got[0].Tensors) != 1 || len(got[1].Tensors) != 2 {
		t.Errorf("%d and %d inputs are sent, want 1 and 2", len(got[0].Tensors), len(got[1].Tensors))
	}
	_, got = prepare(t, load(t, plan.Input{Source: plan.Random}, pair(true, false)))
	if len(got[0].Tensors) != 2 {
		t.Error("random data must include optional inputs")
	}
}

// TestPlaces: requests say which data they carry, and all inputs must be there where it lies in shared memory.
func TestPlaces(t *testing.T) {
	in := fromJSON(t, `{"data":[[{"B":[3,4]},{"A":[1,2],"B":[5,6]},{"A":[1,2],"B":[5,6]}],[{"B":[1,2]}]]}`)
	m := pair(true, false)
	m.Scheduler = service.SequenceBatcher
	_, got := prepare(t, load(t, in, m))
	var places [][2]int
	for _, g := range got {
		places = append(places, [2]int{g.Stream, g.First})
	}
	if d := cmp.Diff([][2]int{{0, 0}, {0, 1}, {0, 2}, {1, 0}}, places); d != "" {
		t.Error(d)
	}
	in.SharedMemory = plan.SystemSharedMemory
	_, err := workload.Prepare(t.Context(), &fake{}, load(t, in, m))
	if !errors.As(err, new(*workload.DataError)) || said(err) != "every input needs data with --shared-memory, also optional inputs" {
		t.Errorf("got %v", err)
	}
}

func TestExpectations(t *testing.T) {
	f := func(m *service.Model, batch int, want [][]tensor.Tensor, texts ...string) {
		t.Helper()
		in := fromJSON(t, texts...)
		in.Batch = batch
		_, inputs := prepare(t, load(t, in, m))
		var got [][]tensor.Tensor
		for _, g := range inputs {
			got = append(got, g.Expect)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s in batches of %d: %s", texts, batch, d)
		}
	}
	out := func(shape tensor.Shape, data []byte) []tensor.Tensor {
		return []tensor.Tensor{{Name: "OUT", Type: tensor.Int32, Shape: shape, Data: data}}
	}
	both := `{"data":[{"IN":[1]},{"IN":[2]}],"validation_data":[{"OUT":[3]},{"OUT":{"content":[4],"shape":[9]}}]}`
	f(model(tensor.Int32, 1), 1, [][]tensor.Tensor{out(tensor.Shape{1, 1}, ints(3)), out(tensor.Shape{1, 1}, ints(4))}, both)
	f(model(tensor.Int32, 1), 2, [][]tensor.Tensor{out(tensor.Shape{2, 1}, ints(3, 4))}, both)

	half := []string{`{"data":[{"IN":[1]}],"validation_data":[{"OUT":[3]}]}`, `{"data":[{"IN":[2]}]}`}
	f(model(tensor.Int32, 1), 1, [][]tensor.Tensor{out(tensor.Shape{1, 1}, ints(3)), nil}, half...)
	f(model(tensor.Int32, 1), 2, [][]tensor.Tensor{nil}, half...)

	variable := model(tensor.Int32, 1)
	variable.Outputs[0].Shape = tensor.Shape{-1}
	f(variable, 1, [][]tensor.Tensor{out(nil, ints(3, 4)), out(tensor.Shape{1, 1}, ints(5))},
		`{"data":[{"IN":[1]},{"IN":[2]}],"validation_data":[{"OUT":[3,4]},{"OUT":{"content":[5],"shape":[1]}}]}`)
	f(variable, 2, [][]tensor.Tensor{out(tensor.Shape{2, 1}, ints(3, 5))},
		`{"data":[{"IN":[1]},{"IN":[2]}],"validation_data":[{"OUT":{"content":[3],"shape":[1]}},{"OUT":{"content":[5],"shape":[1]}}]}`)
}

func TestFirstStream(t *testing.T) {
	f := func(first bool, want int) {
		t.Helper()
		in := fromJSON(t, numbered(2, 3))
		in.FirstStream = first
		r, got := prepare(t, load(t, in, model(tensor.Int32, 1)))
		if r.Len() != want {
			t.Errorf("first stream alone %t: %d requests, want %d", first, r.Len(), want)
		}
		for i, g := range got {
			if d := cmp.Diff(ints(int32(i)), g.Tensors[0].Data); d != "" {
				t.Errorf("first stream alone %t: %s", first, d)
			}
		}
	}
	f(true, 2)
	f(false, 5)
}

func TestPrepareStops(t *testing.T) {
	d := load(t, plan.Input{Source: plan.Zero}, model(tensor.Int32, 1))
	bad := errors.New("too large")
	if _, err := workload.Prepare(t.Context(), &fake{err: bad}, d); !errors.Is(err, bad) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := workload.Prepare(ctx, &fake{}, d); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever the numbers of steps and of active slots: after k rounds the slots together have used the first
// k times n requests of the endless list, each as often as its place in it says.
func TestCursorsShareOut(t *testing.T) {
	for _, steps := range []int{1, 2, 3, 7, 12} {
		in := fromJSON(t, numbered(steps))
		r, _ := prepare(t, load(t, in, model(tensor.Int32, 1)))
		for active := 1; active <= 9; active++ {
			got, want := make([]int, steps), make([]int, steps)
			var call service.Call
			for slot := range active {
				c := r.Cursor(slot, active, false)
				for range 10 {
					c.Next(&call)
					got[call.Rec.Step]++
				}
			}
			for k := range 10 * active {
				want[k%steps]++
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d steps, %d slots: %s", steps, active, d)
			}
		}
	}
}

func TestCursor(t *testing.T) {
	r, _ := prepare(t, load(t, fromJSON(t, numbered(3)), model(tensor.Int32, 1)))
	c := r.Cursor(1, 2, true)
	call := service.Call{Rec: record.Record{SeqID: 9, Flags: record.SequenceEnd | record.Delayed}}
	for i, step := range []uint32{1, 0, 2, 1} {
		c.Next(&call)
		want := service.Call{
			Req:  int(step),
			Vars: service.Vars{ID: 1<<48 | uint64(i), HasID: true},
			Rec:  record.Record{Step: step, Flags: record.Delayed},
		}
		if d := cmp.Diff(want, call); d != "" {
			t.Errorf("call %d: %s", i, d)
		}
	}
	c.Resize(1)
	c.Next(&call)
	if call.Rec.Step != 1 || call.Vars.ID != 1<<48|4 {
		t.Errorf("after a resize: step %d, id %#x", call.Rec.Step, call.Vars.ID)
	}
	r.Cursor(5, 6, false).Next(&call)
	if call.Vars != (service.Vars{ID: 5 << 48}) || call.Rec.Step != 2 {
		t.Errorf("without ids: %+v, step %d", call.Vars, call.Rec.Step)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	r, _ := prepare(t, load(t, fromJSON(t, numbered(300)), model(tensor.Int32, 1)))
	c := r.Cursor(3, 7, true)
	s := r.Sequences(2, segment.Segment{}).Cursor(1, 1, true)
	var call service.Call
	if n := testing.AllocsPerRun(1000, func() { c.Next(&call) }); n != 0 {
		t.Errorf("Cursor.Next: %v allocations", n)
	}
	if n := testing.AllocsPerRun(1000, func() { s.Next(&call) }); n != 0 {
		t.Errorf("SequenceCursor.Next: %v allocations", n)
	}
}

func BenchmarkNext(b *testing.B) {
	d, err := workload.Load(plan.Input{Batch: 1, Source: plan.Zero}, model(tensor.Int32, 1))
	if err != nil {
		b.Fatal(err)
	}
	r, err := workload.Prepare(b.Context(), &fake{}, d)
	if err != nil {
		b.Fatal(err)
	}
	c := r.Cursor(0, 1, true)
	var call service.Call
	b.ReportAllocs()
	for b.Loop() {
		c.Next(&call)
	}
}
