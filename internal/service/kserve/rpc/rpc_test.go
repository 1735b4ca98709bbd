package rpc_test

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/tensor"
)

// driver is the engine in small: it keeps calls in flight until a number of them has ended.
type driver struct {
	tr    service.Transport
	calls []*service.Call
	left  atomic.Int64
	next  atomic.Uint64
	ended chan *service.Call // calls that are not sent again
	ids   bool
	onEnd func(c *service.Call)
	onRsp func(c *service.Call, payload []byte, at int64, empty bool)
}

func (d *driver) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if d.onRsp != nil {
		d.onRsp(c, payload, at, empty)
	}
}

func (d *driver) Done(c *service.Call) {
	if d.onEnd != nil {
		d.onEnd(c)
	}
	if d.left.Add(-1) < 0 {
		d.ended <- c
		return
	}
	d.send(c)
}

func (d *driver) send(c *service.Call) {
	if d.ids {
		c.Vars.ID, c.Vars.HasID = d.next.Add(1), true
	}
	c.Rec.Flags = 0
	d.tr.Send(c)
}

// run makes n calls, as many at once as there are slots, and waits for them.
func (d *driver) run(n int) {
	d.left.Store(int64(n - len(d.calls)))
	for _, c := range d.calls {
		d.send(c)
	}
	d.tr.Flush()
	for range d.calls {
		<-d.ended
	}
}

func open(t testing.TB, target plan.Target, in service.Inputs, slots int) (*rpc.Service, *driver) {
	t.Helper()
	if target.Model == "" {
		target.Model = "echo"
	}
	svc, err := rpc.New(target, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if target.Extensions == plan.NoExtensions { // the service learns that the server is not Triton
		if _, err := svc.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	req, err := svc.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{ended: make(chan *service.Call, slots), ids: true}
	d.tr, err = svc.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.tr.Grow(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	for i := range slots {
		d.calls = append(d.calls, &service.Call{Slot: i, Req: req})
	}
	t.Cleanup(func() {
		_ = d.tr.Close()
		_ = svc.Close()
	})
	return svc, d
}

func inputs() service.Inputs {
	data := make([]byte, 64)
	for i := range 16 {
		binary.LittleEndian.PutUint32(data[4*i:], uint32(i))
	}
	return service.Inputs{
		Tensors: []tensor.Tensor{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{1, 16}, Data: data}},
		Outputs: []string{"OUT"},
	}
}

func TestRequestOnTheWire(t *testing.T) {
	f := startFake(t, &fake{})
	_, d := open(t, plan.Target{
		URL: f.addr, Version: "3",
		Headers:    []plan.Header{{Name: "X-Key", Value: " v"}, {Name: "raw-bin", Value: "\x00\x01"}},
		Parameters: []plan.Parameter{{Name: "a", Value: "s", Type: "string"}, {Name: "b", Value: "-7", Type: "int"}, {Name: "c", Value: "true", Type: "bool"}},
	}, inputs(), 1)
	d.calls[0].Vars = service.Vars{Present: true, SeqID: 1 << 40, Start: true}
	d.next.Store(41)
	d.run(1)

	boolParam := func(v bool) *pb.InferParameter {
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}}
	}
	intParam := func(v int64) *pb.InferParameter {
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: v}}
	}
	want := &pb.ModelInferRequest{
		ModelName: "echo", ModelVersion: "3", Id: "42",
		Parameters: map[string]*pb.InferParameter{
			"triton_enable_empty_final_response": boolParam(true),
			"sequence_id":                        intParam(1 << 40),
			"sequence_start":                     boolParam(true),
			"sequence_end":                       boolParam(false),
			"a":                                  {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "s"}},
			"b":                                  intParam(-7),
			"c":                                  boolParam(true),
		},
		Inputs:           []*pb.ModelInferRequest_InferInputTensor{{Name: "IN", Datatype: "INT32", Shape: []int64{1, 16}}},
		Outputs:          []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "OUT"}},
		RawInputContents: [][]byte{inputs().Tensors[0].Data},
	}
	if diff := cmp.Diff(want, f.seen[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if got := f.md[0]["x-key"]; !cmp.Equal(got, []string{" v"}) && !cmp.Equal(got, []string{"v"}) {
		t.Errorf("x-key is %q", got)
	}
	if got := f.md[0]["raw-bin"]; !cmp.Equal(got, []string{"\x00\x01"}) {
		t.Errorf("raw-bin is %q", got)
	}
}

func TestSequenceByName(t *testing.T) {
	f := startFake(t, &fake{})
	_, d := open(t, plan.Target{URL: f.addr}, inputs(), 1)
	d.calls[0].Vars = service.Vars{Present: true, SeqID: 7, SeqName: "sequence-é", End: true}
	d.run(1)
	want := &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: "sequence-é"}}
	if diff := cmp.Diff(want, f.seen[0].GetParameters()["sequence_id"], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestClosedLoop(t *testing.T) {
	test := func(name string, target plan.Target, slots int) {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, &fake{})
			target.URL = f.addr
			in := inputs()
			in.Expect = []tensor.Tensor{{Name: "OUT", Data: in.Tensors[0].Data}}
			svc, d := open(t, target, in, slots)
			var answers atomic.Int64
			d.onRsp = func(_ *service.Call, payload []byte, at int64, empty bool) {
				answers.Add(1)
				got, err := svc.Outputs(payload)
				if err != nil || empty || at == 0 || len(got) != 1 || !cmp.Equal(got[0].Data, in.Tensors[0].Data) {
					t.Errorf("response %v, %v, empty %v, at %d", got, err, empty, at)
				}
			}
			d.onEnd = func(c *service.Call) {
				r := &c.Rec
				if r.Class != record.OK || c.Err != nil {
					t.Errorf("call ended with %v: %v", r.Class, c.Err)
				}
				if r.Sent == 0 || r.Written < r.Sent || r.First < r.Written || r.End < r.First {
					t.Errorf("times are out of order: %+v", r)
				}
				if r.Responses != 1 || r.In == 0 || r.Out == 0 {
					t.Errorf("record %+v", r)
				}
			}
			const n = 200
			d.run(n)
			if f.count.Load() != n || answers.Load() != n {
				t.Errorf("the server saw %d requests, we %d answers; want %d", f.count.Load(), answers.Load(), n)
			}
		})
	}
	test("one slot", plan.Target{}, 1)
	test("eight slots", plan.Target{}, 8)
	test("two lanes", plan.Target{}, 100)
	test("three connections", plan.Target{Connections: 3}, 8)
	test("gzip", plan.Target{Compression: "gzip"}, 4)
	test("none", plan.Target{Compression: "none"}, 4)
	test("streaming", plan.Target{Streaming: true}, 8)
	test("streaming gzip", plan.Target{Streaming: true, Compression: "gzip"}, 3)
}

func TestDescribeAndStats(t *testing.T) {
	f := startFake(t, &fake{})
	svc, d := open(t, plan.Target{URL: f.addr}, inputs(), 2)
	m, err := svc.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &service.Model{
		Name: "echo", Platform: "test", MaxBatch: 8, Scheduler: service.DynamicBatcher, MaxQueueDelay: 3 * time.Millisecond, Statistics: true,
		Inputs:  []service.TensorSpec{{Name: "IN", Type: tensor.Int32, Shape: tensor.Shape{16}}},
		Outputs: []service.TensorSpec{{Name: "OUT", Type: tensor.Int32, Shape: tensor.Shape{16}}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	d.run(10)
	stats, err := svc.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := service.Tally{Count: 10, Ns: 10}
	if len(stats) != 1 || stats[0].InferenceCount != 10 || stats[0].Queue != n || stats[0].Name != "echo" {
		t.Errorf("statistics are %+v", stats)
	}
}

func TestTraceSettingsArePutBack(t *testing.T) {
	f := startFake(t, &fake{})
	svc, err := rpc.New(plan.Target{URL: f.addr, Model: "echo", Trace: plan.Trace{Level: "TIMESTAMPS", Rate: "5"}}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	levels := func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return append(f.trace["trace_level"].GetValue(), f.trace["trace_rate"].GetValue()...)
	}
	for range 2 {
		if _, err := svc.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"TIMESTAMPS", "5"}, levels()); diff != "" {
			t.Error(diff)
		}
	}
	if err := svc.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"OFF", "1000"}, levels()); diff != "" {
		t.Error(diff)
	}
}
