package rpc_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// once makes one call and returns it.
func once(t *testing.T, target plan.Target, in service.Inputs) *service.Call {
	t.Helper()
	_, d := open(t, target, in, 1)
	d.run(1)
	return d.calls[0]
}

func TestAnswersThatAreNot(t *testing.T) {
	type infer func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error)
	f := func(name string, fn infer, class record.Class, code int, text string) {
		t.Run(name, func(t *testing.T) {
			in := inputs()
			in.Expect = []tensor.Tensor{{Name: "OUT", Data: in.Tensors[0].Data}}
			c := once(t, plan.Target{URL: startFake(t, &fake{infer: fn}).addr}, in)
			var e *service.Error
			if !errors.As(c.Err, &e) || c.Rec.Class != class || e.Class != class || e.Code != code || e.Error() != text {
				t.Errorf("got %v: %+v", c.Rec.Class, e)
			}
			if c.Rec.End < c.Rec.Sent || c.Rec.Responses != 0 && class != record.OK {
				t.Errorf("record %+v", c.Rec)
			}
		})
	}
	change := func(edit func(r *pb.ModelInferResponse)) infer {
		return func(_ context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
			r := echo(q)
			edit(r)
			return r, nil
		}
	}
	f("status", func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
		return nil, status.Error(codes.InvalidArgument, "unexpected shape: [1,2] for 'ÿ'")
	}, record.Server, 3, "unexpected shape: [1,2] for 'ÿ'")
	f("status without a message", func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
		return nil, status.Error(codes.Internal, "")
	}, record.Server, 13, "the server answered with gRPC status 13 and no message")
	f("id", change(func(r *pb.ModelInferResponse) { r.Id += "0" }), record.Protocol, 0, "the answer's id is not the request's")
	f("no data", change(func(r *pb.ModelInferResponse) { r.RawOutputContents = nil }), record.Protocol, 0, "the answer does not hold one piece of raw data for each output")
	f("too much data", change(func(r *pb.ModelInferResponse) { r.RawOutputContents = append(r.RawOutputContents, nil) }), record.Protocol, 0, "the answer does not hold one piece of raw data for each output")
	f("other data", change(func(r *pb.ModelInferResponse) { r.RawOutputContents[0][3]++ }), record.Mismatch, 0, string(service.OutputDiffers))
	f("less data", change(func(r *pb.ModelInferResponse) { r.RawOutputContents[0] = r.RawOutputContents[0][4:] }), record.Protocol, 0, "output OUT has 60 bytes, which does not fit its datatype and shape, INT32 [1,16]")
	f("another output", change(func(r *pb.ModelInferResponse) { r.Outputs[0].Name = "X" }), record.Mismatch, 0, string(service.OutputSize))
}

func TestTypedAnswer(t *testing.T) {
	typed := func(_ context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
		r := echo(q)
		r.RawOutputContents = nil
		r.Outputs[0].Contents = &pb.InferTensorContents{}
		for i := range int32(16) {
			r.Outputs[0].Contents.IntContents = append(r.Outputs[0].Contents.IntContents, i)
		}
		return r, nil
	}
	in := inputs()
	in.Expect = []tensor.Tensor{{Name: "OUT", Data: in.Tensors[0].Data}}
	if c := once(t, plan.Target{URL: startFake(t, &fake{infer: typed}).addr}, in); c.Err != nil {
		t.Error(c.Err)
	}
}

func TestNoServer(t *testing.T) {
	addr := testkit.Port(t)
	svc, err := rpc.New(plan.Target{URL: addr, Model: "echo"}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "connection refused"
	check := func(err error) {
		t.Helper()
		var e *service.Error
		if !errors.As(err, &e) || e.Class != record.Connect || e.Text != want || e.Addr != addr {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err = svc.Describe(t.Context())
	check(err)
	tr, err := svc.Open(t.Context(), &driver{})
	if err != nil {
		t.Fatal(err)
	}
	check(tr.Grow(t.Context(), 4))
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnknownModel(t *testing.T) {
	svc, err := rpc.New(plan.Target{URL: startFake(t, &fake{}).addr, Model: "nope"}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = svc.Close() }()
	_, err = svc.Describe(t.Context())
	var e *service.Error
	if !errors.As(err, &e) || e.Class != record.Server || e.Code != int(codes.NotFound) || e.Text != "Request for unknown model: 'nope' is not found" {
		t.Errorf("got %+v", e)
	}
}

func TestServerComesBack(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		addr, f := testkit.Port(t), &fake{}
		f.serve(t, testkit.Listen(t, addr))
		_, d := open(t, plan.Target{URL: addr, Streaming: streaming}, inputs(), 4)
		var failed, good atomic.Int64
		classes := make(chan record.Class, 1000)
		again := make(chan struct{})
		d.onEnd = func(c *service.Call) {
			if c.Rec.Class != record.OK {
				select {
				case classes <- c.Rec.Class:
				default:
				}
				if failed.Add(1) == 8 {
					close(again)
				}
				return
			}
			n := good.Add(1)
			if n == 100 {
				go f.srv.Stop()
			}
			if n > 200 && failed.Load() >= 8 {
				d.left.Store(0)
			}
		}
		t.Cleanup(func() { d.left.Store(0) }) // ends the calls if the test fails before the server is back
		var calls sync.WaitGroup
		calls.Go(func() { d.run(1 << 40) })
		<-again
		f.serve(t, testkit.Listen(t, addr))
		calls.Wait()
		for len(classes) > 0 {
			if c := <-classes; c != record.Transport && c != record.Connect {
				t.Errorf("a call failed with %v", c)
			}
		}
	}
}

// A server that asks to leave its connections loses no request: those that it has not looked at are sent again.
func TestServerLeavesConnections(t *testing.T) {
	const calls, each = 400, 20
	f := &fake{}
	srv := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(srv, f)
	var asked, conns atomic.Int64
	leaving := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%each == 0 {
			w.Header().Set("Connection", "close") // Go's HTTP server sends GOAWAY for it
		}
		srv.ServeHTTP(w, r)
	}))
	leaving.Config.Protocols = new(http.Protocols)
	leaving.Config.Protocols.SetUnencryptedHTTP2(true)
	leaving.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	leaving.Start()
	defer leaving.Close()
	_, d := open(t, plan.Target{URL: leaving.Listener.Addr().String()}, inputs(), 8)
	d.onEnd = func(c *service.Call) {
		if c.Err != nil {
			t.Errorf("a call failed although no request was lost: %v", c.Err)
		}
	}
	d.run(calls)
	if n := conns.Load(); n < 3 {
		t.Errorf("%d connections: the server left none", n)
	}
	_ = d.tr.Close()
}

func TestFewStreamsOnAConnection(t *testing.T) {
	f := startFake(t, &fake{}, grpc.MaxConcurrentStreams(3))
	_, d := open(t, plan.Target{URL: f.addr}, inputs(), 8)
	if got := d.tr.Lane(7); got != 2 {
		t.Errorf("slot 7 is on lane %d, want 2", got)
	}
	_, e := open(t, plan.Target{URL: f.addr, Connections: 1}, inputs(), 8) // as asked: calls wait for their turn
	for _, d := range []*driver{d, e} {
		d.onEnd = func(c *service.Call) {
			if c.Err != nil {
				t.Error(c.Err)
			}
		}
		d.run(200)
	}
}

// hold is a model that answers when it is told to.
func hold(release <-chan struct{}) func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	return func(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return echo(r), nil
	}
}

func TestCut(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		const slots, more = 3, 30
		release := make(chan struct{})
		f := &fake{infer: hold(release), asked: make(chan struct{}, slots+more)}
		f.stream = func(r *pb.ModelInferRequest, st grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error {
			select {
			case <-release:
			case <-st.Context().Done():
			}
			return st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)})
		}
		startFake(t, f)
		_, d := open(t, plan.Target{URL: f.addr, Streaming: streaming}, inputs(), slots)
		for _, c := range d.calls {
			d.send(c)
		}
		d.tr.Flush()
		for range slots {
			<-f.asked
		}
		got := map[int]record.Class{}
		note := func(c *service.Call) { got[c.Slot] = c.Rec.Class }
		d.tr.Cut(0, record.Timeout)
		d.tr.Cut(2, record.Canceled)
		note(<-d.ended)
		note(<-d.ended)
		close(release)
		note(<-d.ended)
		want := map[int]record.Class{0: record.Timeout, 1: record.OK, 2: record.Canceled}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("streaming %v: ends by slot (-want +got):\n%s", streaming, diff)
		}
		d.run(more) // the slots work on
		for _, c := range d.calls {
			if c.Err != nil {
				t.Errorf("streaming %v: after the cut: %v", streaming, c.Err)
			}
		}
	}
}

func TestCloseInFlight(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	f := startFake(t, &fake{infer: hold(release)})
	_, d := open(t, plan.Target{URL: f.addr}, inputs(), 4)
	for _, c := range d.calls {
		d.send(c)
	}
	d.tr.Flush()
	if err := d.tr.Close(); err != nil {
		t.Error(err)
	}
	for range d.calls {
		if c := <-d.ended; c.Rec.Class != record.Canceled {
			t.Errorf("a call ended with %v: %v", c.Rec.Class, c.Err)
		}
	}
}

func TestBadSettings(t *testing.T) {
	f := func(target plan.Target, want string) {
		t.Helper()
		if _, err := rpc.New(target, plan.Input{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f(plan.Target{Headers: []plan.Header{{Name: "a b"}}}, "not allowed in gRPC metadata")
	f(plan.Target{Headers: []plan.Header{{Name: "grpc-timeout", Value: "1S"}}}, "belongs to gRPC itself")
	f(plan.Target{Headers: []plan.Header{{Name: "a", Value: "b\nc"}}}, "line break")
	f(plan.Target{TLS: plan.TLS{GRPC: true, CAFile: "/does/not/exist"}}, "no usable CA certificates: open /does/not/exist: no such file or directory")
	f(plan.Target{TLS: plan.TLS{GRPC: true, KeyFile: "x"}}, "needs both")
	svc, err := rpc.New(plan.Target{Parameters: []plan.Parameter{{Name: "n", Value: "x", Type: "int"}}}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Prepare(inputs()); err == nil {
		t.Error("a parameter that is not a number was accepted")
	}
}
