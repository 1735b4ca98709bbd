//go:build native && cgo && linux

package tritoncapi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// In whatever order Triton answers and gives requests back, each call ends once, with its own answer, and can be
// followed by the next at once.
func TestClosedLoop(t *testing.T) {
	for _, model := range []string{"echo", "inline", "early", "late"} {
		t.Run(model, func(t *testing.T) {
			const slots, rounds = 8, 50
			s := newSink()
			svc, tr := opened(t, model, slots, s)
			var reqs []service.Request
			for i := range slots {
				want := ints("OUT0", byte(i), 9)
				reqs = append(reqs, prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", byte(i), 9)}, Expect: []tensor.Tensor{want}}))
			}
			left := make([]int, slots) // each slot ends on one lane, one at a time
			s.next = func(c *service.Call) {
				r := &c.Rec
				if c.Err != nil || r.Responses != 1 || r.In != 16 || r.Out != 16 {
					t.Errorf("slot %d: %+v %v", c.Slot, *r, c.Err)
				}
				if now := clock.Now(); r.Sent > r.Written || r.Sent > r.First || r.First != r.End || r.End > now || r.Written > now {
					t.Errorf("times out of order: %+v at %d", *r, now)
				}
				if left[c.Slot]++; left[c.Slot] == rounds {
					s.ends <- c
					return
				}
				c.Rec = record.Record{}
				tr.Send(c)
			}
			for i := range slots {
				tr.Send(&service.Call{Slot: i, Req: reqs[i]})
			}
			tr.Flush()
			for range slots {
				s.end(t)
			}
			if len(s.got) != slots*rounds {
				t.Errorf("%d answers to %d requests", len(s.got), slots*rounds)
			}
		})
	}
}

func TestOutputs(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "echo", 1, s)
	text := tensor.Tensor{Name: "B", Type: tensor.Bytes, Shape: tensor.Shape{1, 1}, Data: tensor.AppendElement(nil, "ab")}
	none := tensor.Tensor{Name: "Z", Type: tensor.FP32, Shape: tensor.Shape{1, 0}, Data: []byte{}}
	once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("A", 1, 2, 3), text, none}, Outputs: []string{"OUT0", "OUT1"}})
	got, err := svc.Outputs(s.got[0])
	if err != nil {
		t.Fatal(err)
	}
	want := []tensor.Tensor{ints("OUT0", 1, 2, 3), text, none}
	want[1].Name, want[2].Name = "OUT1", "OUT2"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A sink that keeps nothing is given nothing, which saves a copy of every output.
func TestNoPayloadForWhoKeepsNone(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "echo", 1, struct {
		*sink
		forgetful
	}{sink: s})
	once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
	if len(s.got) != 1 || len(s.got[0]) != 0 {
		t.Errorf("got %v", s.got)
	}
}

type forgetful struct{}

func (forgetful) Keeps() bool { return false }

func TestStream(t *testing.T) {
	for _, n := range []byte{0, 1, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSink()
			svc, tr := opened(t, "stream", 1, s)
			c := once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", n)}, Expect: nil})
			wantClass(t, c, record.OK, "")
			if c.Rec.Responses != uint32(n) || len(s.got) != int(n) || s.empty != 1 {
				t.Errorf("%d responses counted, %d seen, %d empty; want %d and one empty", c.Rec.Responses, len(s.got), s.empty, n)
			}
			if c.Rec.First < c.Rec.Sent || c.Rec.End < c.Rec.First || c.Rec.In != 16*uint64(n) {
				t.Errorf("%+v", c.Rec)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	f := func(model string, in service.Inputs, class record.Class, text string) {
		t.Helper()
		s := newSink()
		svc, tr := opened(t, model, 1, s)
		in.Tensors = []tensor.Tensor{ints("IN0", 1)}
		for range 3 { // a failure does not spoil the slot
			wantClass(t, once(t, svc, tr, s, in), class, text)
		}
	}
	f("fail", service.Inputs{}, record.Server, "failed on purpose")
	f("broken", service.Inputs{}, record.Server, "failed on purpose")
	f("refuse", service.Inputs{}, record.Server, "the request is refused")
	f("echo", service.Inputs{Expect: []tensor.Tensor{ints("OUT0", 2)}}, record.Mismatch, string(service.OutputDiffers))
	f("echo", service.Inputs{Expect: []tensor.Tensor{ints("OUT7", 1)}}, record.Mismatch, string(service.OutputSize))
	f("fail", service.Inputs{Expect: []tensor.Tensor{ints("OUT0", 1)}}, record.Server, "failed on purpose")
}

func TestVars(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "vars", 1, s)
	r := prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0")}})
	f := func(v service.Vars, want string) {
		t.Helper()
		s.got = nil
		tr.Send(&service.Call{Req: r, Vars: v})
		s.end(t)
		if out, err := svc.Outputs(s.got[0]); err != nil || string(out[0].Data) != want {
			t.Errorf("the model saw %q, want %q (%v)", out[0].Data, want, err)
		}
	}
	f(service.Vars{}, "id= flags=0 sequence=0")
	f(service.Vars{HasID: true, ID: 18446744073709551615}, "id=18446744073709551615 flags=0 sequence=0")
	f(service.Vars{Present: true, SeqID: 12, Start: true}, "id= flags=1 sequence=12")
	f(service.Vars{Present: true, SeqID: 12}, "id= flags=0 sequence=12")
	f(service.Vars{Present: true, SeqID: 12, End: true}, "id= flags=2 sequence=12")
	f(service.Vars{Present: true, SeqID: 12, Start: true, End: true, HasID: true}, "id=0 flags=3 sequence=12")
}

// A cut call ends at once; its slot is free for the next, and what Triton still says of the old one is dropped.
func TestCut(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "slow", 1, s)
	answered := prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
	held := prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 255)}})
	tr.Cut(0, record.Timeout) // nothing is in flight
	for range 20 {
		tr.Send(&service.Call{Req: held})
		tr.Cut(0, record.Timeout)
		wantClass(t, s.end(t), record.Timeout, "no complete response from Triton within the request's deadline")
	}
	tr.Send(&service.Call{Req: answered})
	wantClass(t, s.end(t), record.OK, "")
	tr.Send(&service.Call{Req: held})
	tr.Cut(0, record.Canceled)
	wantClass(t, s.end(t), record.Canceled, service.ErrCanceled.Text)
}

// A model that never answers holds up nobody: its calls are cut, the transport closes, the service says what it
// left behind.
func TestHang(t *testing.T) {
	s := newSink()
	svc, m := described(t, "hang")
	open, err := svc.Open(t.Context(), s)
	if err != nil || m == nil {
		t.Fatal(err)
	}
	tr := open.(*transport)
	tr.wait = 20 * time.Millisecond
	if err := tr.Grow(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	r := prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
	for i := range 2 {
		tr.Send(&service.Call{Slot: i, Req: r})
	}
	if err := tr.Close(); err == nil {
		t.Error("the transport closed as if nothing had been left behind")
	}
	for range 2 {
		wantClass(t, s.end(t), record.Canceled, service.ErrCanceled.Text)
	}
	if err := svc.Close(); err == nil || !bytes.Contains([]byte(err.Error()), []byte("left behind: 2 requests")) {
		t.Errorf("got %v", err)
	}
}

// A model whose answers took their time gets that time at the end too.
func TestCloseWaitsForSlowModels(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "slow", 1, s)
	tr.wait = 0
	r := prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
	tr.Send(&service.Call{Req: r})
	wantClass(t, s.end(t), record.OK, "")
	if took := tr.longest(); took < 40*time.Millisecond {
		t.Errorf("an answer that took 50 ms was noted with %s", took)
	}
	for _, l := range tr.lanes {
		l.longest.Store(time.Minute.Nanoseconds()) // so that it does not matter how busy this machine is
	}
	tr.Send(&service.Call{Req: r})
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
	wantClass(t, s.end(t), record.Canceled, service.ErrCanceled.Text)
}

// The words of perf_analyzer for what Triton refused and for what it could not do.
func TestFailureWords(t *testing.T) {
	for model, want := range map[string]LibraryError{
		"refuse": {What: service.RequestRefused, Code: "Internal", Text: "the request is refused"},
		"fail":   {What: service.ResponseFailed, Code: "Internal", Text: "failed on purpose"},
	} {
		s := newSink()
		svc, tr := opened(t, model, 1, s)
		c := once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
		var got *LibraryError
		if !errors.As(c.Err, &got) || *got != want {
			t.Errorf("%s: got %v, want %v", model, got, &want)
		}
	}
}

// With shared memory an output of open size has the room that --output-shared-memory-size gives it.
func TestOutputRegion(t *testing.T) {
	for size, class := range map[int]record.Class{15: record.Server, 16: record.OK} {
		s := newSink()
		svc, _ := described(t, "echo")
		svc.regions = regions{on: true, size: uint64(size), names: []string{"OUT0"}}
		tr := transportOf(t, svc, 1, s)
		text := ""
		if class != record.OK {
			text = "shared memory size specified with the request for output 'OUT0' (15 bytes) should be at least 16 bytes to hold the results"
		}
		wantClass(t, once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}}), class, text)
	}
}

// With --shared-memory cuda inputs are on the GPU and outputs come there; what is looked at is fetched.
func TestGPU(t *testing.T) {
	dir := t.TempDir()
	wheel := filepath.Join(dir, "triton.libs")
	install(t, fakeTriton, filepath.Join(wheel, "libtritonserver-1.so"))
	install(t, fakeCUDA, filepath.Join(wheel, "libcudart-1.so.12"))
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "lib"), 0o755), os.Symlink(filepath.Join(wheel, "libtritonserver-1.so"), filepath.Join(dir, libraryName))); err != nil {
		t.Fatal(err)
	}
	made, err := New(plan.Target{Model: "echo", ServerDirectory: dir, ModelRepository: dir}, plan.Input{SharedMemory: plan.CUDASharedMemory, OutputRegionSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	svc := made.(*Service)
	if _, err := svc.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	in := service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1, 2)}, Expect: []tensor.Tensor{ints("OUT0", 1, 2)}}
	prepared(t, svc, in)
	s := newSink()
	tr := transportOf(t, svc, 1, s)
	for i := range 5 {
		wantClass(t, once(t, svc, tr, s, in), record.OK, "")
		out, err := svc.Outputs(s.got[i])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in.Expect, out); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	large := tensor.Tensor{Name: "IN0", Type: tensor.Uint8, Shape: tensor.Shape{1, 2 << 20}, Data: make([]byte, 2<<20)}
	if _, err := svc.Prepare(service.Inputs{Tensors: []tensor.Tensor{large}}); err == nil || err.Error() != "unable to allocate memory of 2097152 bytes on gpu for output: out of memory" {
		t.Errorf("got %v", err)
	}
}

// After warm-up a request costs no allocation.
func TestAllocations(t *testing.T) {
	s := newSink()
	svc, tr := opened(t, "inline", 1, struct {
		*sink
		forgetful
	}{sink: s})
	var sends int
	s.next = func(c *service.Call) {
		if sends--; sends == 0 {
			s.ends <- c
			return
		}
		c.Rec = record.Record{}
		tr.Send(c)
	}
	c := &service.Call{Req: prepared(t, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})}
	run := func(n int) {
		sends = n
		s.mu.Lock()
		s.got = make([][]byte, 0, n)
		s.mu.Unlock()
		tr.Send(c)
		s.end(t)
	}
	run(1000)
	testkit.FewAllocs(t, 10_000, func() { run(10_000) })
}

func BenchmarkSend(b *testing.B) {
	s := newSink()
	svc, tr := opened(b, "inline", 1, struct {
		*sink
		forgetful
	}{sink: s})
	s.next = func(c *service.Call) {
		s.got = s.got[:0]
		if b.Loop() {
			tr.Send(c)
			return
		}
		s.ends <- c
	}
	b.ReportAllocs()
	tr.Send(&service.Call{Req: prepared(b, svc, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})})
	s.end(b)
}

func FuzzOutputs(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\x00\x00A\x08\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00abcd"))
	f.Add([]byte("\x00\x00\x00\x00\x08\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		out, err := (&Service{}).Outputs(payload)
		size := 0
		for _, o := range out {
			size += len(o.Name) + len(o.Data) + 8*len(o.Shape) + 17
		}
		if err == nil && size != len(payload) {
			t.Errorf("%d bytes decoded out of %d", size, len(payload))
		}
	})
}
