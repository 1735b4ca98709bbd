package share_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/shm"
	"github.com/redline-bench/redline/internal/tensor"
)

// server maps what is registered, as a server does, and keeps a log.
type server struct {
	log     []string
	keys    map[string]string // by region
	refuse  string            // the region that it does not take
	busy    int               // how often regions are still in use
	noCUDA  bool
	dropped error
}

func (s *server) Register(_ context.Context, r *shm.Region) error {
	s.log = append(s.log, fmt.Sprintf("register %s %d", r.Name(), r.Size()))
	if r.Name() == s.refuse {
		return &service.Error{Op: "shared memory", Class: record.Server, Text: "no room for " + r.Name()}
	}
	s.keys[r.Name()] = r.Key()
	return nil
}

func (s *server) UnregisterAll(_ context.Context, kind shm.Kind) error {
	s.log = append(s.log, "unregister "+kind.String())
	switch {
	case kind == shm.CUDA && s.noCUDA:
		return &service.Error{Class: record.Server, Text: "what is CUDA?"}
	case s.busy > 0:
		s.busy--
		return &service.Error{Class: record.Server, Text: "Failed to unregister the following system shared memory regions: X"}
	case s.dropped != nil:
		return s.dropped
	}
	return nil
}

// path is the file of a region.
func (s *server) path(region string) string { return filepath.Join("/dev/shm", s.keys[region]) }

func (s *server) read(t *testing.T, region string) string {
	t.Helper()
	b, err := os.ReadFile(s.path(region))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s *server) write(t *testing.T, region, data string) {
	t.Helper()
	f, err := os.OpenFile(s.path(region), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(data), 0); err != nil {
		t.Fatal(err)
	}
}

var model = &service.Model{Outputs: []service.TensorSpec{
	{Name: "SUM", Type: tensor.Int32, Shape: tensor.Shape{2}},
	{Name: "DIFF", Type: tensor.Int32, Shape: tensor.Shape{-1}},
	{Name: "TEXT", Type: tensor.Bytes, Shape: tensor.Shape{1}},
}}

// newPool reserves the memory of two requests.
func newPool(t *testing.T, srv *server, expect []tensor.Tensor) *share.Pool {
	t.Helper()
	srv.keys = map[string]string{}
	p := share.New(srv, plan.Input{Batch: 2, SharedMemory: plan.SystemSharedMemory, OutputRegionSize: 10})
	outs, err := p.Outputs(model, []string{"SUM", "DIFF", "TEXT"})
	if err != nil {
		t.Fatal(err)
	}
	want := []share.Ref{{Tensor: "DIFF", Region: "DIFF", Size: 20}, {Tensor: "SUM", Region: "SUM", Size: 16}, {Tensor: "TEXT", Region: "TEXT", Size: 20}}
	if diff := cmp.Diff(want, outs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	for step, text := range []string{"abcd", "efg"} {
		p.Inputs(service.Inputs{First: 2 * step, Stream: 1, Expect: expect, Tensors: []tensor.Tensor{
			{Name: "B/x", Data: []byte(text)}, {Name: "A", Data: []byte(strings.ToUpper(text))},
		}})
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestRegionsOfOthersStay(t *testing.T) {
	srv := &server{busy: 1 << 20}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // there is no waiting for them
	if err := newPool(t, srv, nil).Stage(ctx); err != nil {
		t.Error(err)
	}
	srv.busy = 0
}

func TestNoRoomForOutputs(t *testing.T) {
	srv := &server{keys: map[string]string{}}
	p := share.New(srv, plan.Input{Batch: 2, SharedMemory: plan.SystemSharedMemory})
	if _, err := p.Outputs(model, []string{"DIFF"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Stage(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "shared memory of 0 bytes cannot be made for output DIFF") {
		t.Errorf("outputs of no bytes: %v", err)
	}
}

func TestStage(t *testing.T) {
	srv := &server{noCUDA: true}
	p := newPool(t, srv, nil)
	if err := p.Stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"unregister system", "unregister cuda",
		"register DIFF 20", "register SUM 16", "register TEXT 20",
		"register A_1_0 4", "register A_1_2 3", "register Bx_1_0 4", "register Bx_1_2 3",
	}
	if diff := cmp.Diff(want, srv.log); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := srv.read(t, "A_1_2") + srv.read(t, "Bx_1_0"); got != "EFGabcd" {
		t.Errorf("the regions hold %q", got)
	}
	srv.log, srv.busy = nil, 2
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want = []string{"unregister system", "unregister system", "unregister system", "unregister cuda"}
	if diff := cmp.Diff(want, srv.log); diff != "" {
		t.Errorf("calls at the end (-want +got):\n%s", diff)
	}
	for region := range srv.keys {
		if _, err := os.Stat(srv.path(region)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", region, err)
		}
	}
	if err := p.Close(); err != nil || len(srv.log) != 4 {
		t.Errorf("a second Close: %v, %q", err, srv.log)
	}
}

func TestStageFails(t *testing.T) {
	srv := &server{refuse: "A_1_2"}
	p := newPool(t, srv, nil)
	if err := p.Stage(t.Context()); err == nil || err.Error() != "no room for A_1_2" {
		t.Fatalf("got %v", err)
	}
	srv.dropped = &service.Error{Class: record.Connect, Text: "connection refused"}
	if err := p.Close(); !errors.Is(err, share.ErrUnregister) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/redline-%d-*", os.Getpid()))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNothingToDo(t *testing.T) {
	if p := share.New(&server{}, plan.Input{SharedMemory: plan.NoSharedMemory}); p != nil {
		t.Error("a pool without shared memory")
	}
	var none *share.Pool
	if err := none.Close(); err != nil {
		t.Error(err)
	}
	srv := &server{}
	if err := newPool(t, srv, nil).Close(); err != nil || srv.log != nil {
		t.Errorf("closing before Stage: %v, %q", err, srv.log)
	}
}

func TestOutputsRefuses(t *testing.T) {
	p := share.New(&server{}, plan.Input{SharedMemory: plan.SystemSharedMemory})
	if _, err := p.Outputs(nil, []string{"SUM"}); err == nil {
		t.Error("no model, no error")
	}
	if _, err := p.Outputs(model, []string{"GHOST"}); err == nil || !strings.Contains(err.Error(), "GHOST") {
		t.Errorf("got %v", err)
	}
}

// TestNamesStayApart: names that are the same without their slashes, or with a slot's number, get different regions.
func TestNamesStayApart(t *testing.T) {
	m := &service.Model{Outputs: []service.TensorSpec{
		{Name: "O", Type: tensor.Int8, Shape: tensor.Shape{1}},
		{Name: "O_1", Type: tensor.Int8, Shape: tensor.Shape{1}},
		{Name: "/O", Type: tensor.Int8, Shape: tensor.Shape{1}},
	}}
	srv := &server{keys: map[string]string{}}
	p := share.New(srv, plan.Input{SharedMemory: plan.SystemSharedMemory})
	if _, err := p.Outputs(m, []string{"O", "O_1", "/O"}); err != nil {
		t.Fatal(err)
	}
	p.Inputs(service.Inputs{Expect: []tensor.Tensor{}})
	if err := p.Stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Wrap(&carrier{}, nil).Grow(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if len(srv.keys) != 6 {
		t.Errorf("regions %v", srv.keys)
	}
}

// carrier stands for a protocol's transport.
type carrier struct {
	service.Transport
	slots int
	sent  []service.Request
}

func (c *carrier) Grow(_ context.Context, n int) error {
	c.slots = n
	return nil
}

func (c *carrier) Preview(_ context.Context, call *service.Call) ([]byte, error) {
	return fmt.Append(nil, call.Req), nil
}

func (c *carrier) Send(call *service.Call) { c.sent = append(c.sent, call.Req) }

func TestSlots(t *testing.T) {
	srv := &server{}
	expect := []tensor.Tensor{{Name: "SUM", Type: tensor.Int32, Data: []byte("12345678")}}
	p := newPool(t, srv, expect)
	if err := p.Stage(t.Context()); err != nil {
		t.Fatal(err)
	}
	under := &carrier{}
	var slots []*share.Slot
	tr := p.Wrap(under, func(req service.Request, to *share.Slot) (service.Request, []tensor.Tensor) {
		slots = append(slots, to)
		return fmt.Sprint(req, " to ", to.Refs[1].Region), expect
	})
	if err := tr.Grow(t.Context(), 3); err != nil || under.slots != 3 {
		t.Fatalf("%v, %d slots", err, under.slots)
	}
	if text, err := tr.(service.Previewer).Preview(t.Context(), &service.Call{Req: "a"}); err != nil || string(text) != "a to SUM" || len(under.sent) != 0 {
		t.Errorf("previewed as %q, %v; sent %v", text, err, under.sent)
	}
	slots = nil
	tr.Send(&service.Call{Slot: 0, Req: "a"})
	tr.Send(&service.Call{Slot: 2, Req: "b"})
	if diff := cmp.Diff([]service.Request{"a to SUM", "b to SUM_2"}, under.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	srv.write(t, "SUM_2", "12345678")
	srv.write(t, "TEXT_2", "\x02\x00\x00\x00hi\x01\x00\x00\x00!rest")
	f := func(name string, dt tensor.Datatype, n uint64, want string) {
		t.Helper()
		if got, err := slots[1].Output(name, dt, n); string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	f("SUM", tensor.Int32, 2, "12345678")
	f("SUM", tensor.Int32, 1, "1234")
	f("SUM", tensor.Int32, 5, "") // more than there is room for
	f("SUM", tensor.Int32, 1<<62, "")
	f("TEXT", tensor.Bytes, 2, "\x02\x00\x00\x00hi\x01\x00\x00\x00!")
	f("TEXT", tensor.Bytes, 3, "") // the third is not a string
	f("GHOST", tensor.Int32, 1, "")

	// What an earlier response left does not pass for this one, also where the same request is sent again.
	again := &service.Call{Slot: 2, Req: under.sent[1]}
	tr.Send(again)
	if len(slots) != 2 || under.sent[2] != under.sent[1] {
		t.Errorf("sent again as %v", under.sent)
	}
	if got := srv.read(t, "SUM_2")[:8]; got == "12345678" || got[1:7] != "234567" {
		t.Errorf("spoiled to %q", got)
	}
	if n := testing.AllocsPerRun(100, func() {
		under.sent = under.sent[:0]
		tr.Send(again)
		if _, err := slots[1].Output("SUM", tensor.Int32, 2); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// TestSharedByAll: where nothing is compared the transport is the protocol's own.
func TestSharedByAll(t *testing.T) {
	p := newPool(t, &server{}, nil)
	under := &carrier{}
	if p.Wrap(under, nil) != service.Transport(under) {
		t.Error("wrapped without need")
	}
}

func TestNoGPU(t *testing.T) {
	p := share.New(&server{}, plan.Input{SharedMemory: plan.CUDASharedMemory})
	if _, err := p.Outputs(model, []string{"SUM"}); err != nil {
		t.Fatal(err)
	}
	err := p.Stage(t.Context())
	_ = p.Close()
	if err == nil {
		t.Skip("**** THERE IS A GPU HERE ****")
	}
	if !strings.HasPrefix(err.Error(), "cannot allocate 8 bytes of GPU memory: ") || strings.Contains(err.Error(), "create cuda") {
		t.Errorf("got %v", err)
	}
}
