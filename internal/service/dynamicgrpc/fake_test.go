package dynamicgrpc_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // so that the server understands compressed requests
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/dynamicgrpc"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// rawCodec hands messages over as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

func (rawCodec) Name() string { return "proto" }

// fake is a server on grpc-go, an implementation that shares nothing with ours. It knows the methods of
// v1.Simple: Echo answers each message, Unary the one, Collect all with one, Split one with as many as it has bytes.
type fake struct {
	addr string

	mu   sync.Mutex
	seen [][]byte // the messages of the first stream
	md   metadata.MD
	n    int
}

func startFake(t testing.TB, opts ...grpc.ServerOption) *fake {
	t.Helper()
	ln := testkit.Listen(t, "127.0.0.1:0")
	f := &fake{addr: ln.Addr().String()}
	opts = append(opts, grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(f.handle))
	testkit.ServeGRPC(t, grpc.NewServer(opts...), ln)
	return f
}

func (f *fake) handle(_ any, st grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(st)
	var got [][]byte
	for {
		var b []byte
		if err := st.RecvMsg(&b); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		got = append(got, b)
		if name == "/v1.Simple/Echo" {
			if err := st.SendMsg(&b); err != nil {
				return err
			}
		}
	}
	f.mu.Lock()
	if f.n++; f.n == 1 {
		f.seen = got
		f.md, _ = metadata.FromIncomingContext(st.Context())
	}
	f.mu.Unlock()
	switch name {
	case "/v1.Simple/Echo":
		return nil
	case "/v1.Simple/Unary":
		return st.SendMsg(&got[0])
	case "/v1.Simple/Collect":
		b := []byte("\x0a\x01" + fmt.Sprint(len(got)))
		return st.SendMsg(&b)
	case "/v1.Simple/Split":
		for i := range got[0] {
			b := got[0][i : i+1]
			if err := st.SendMsg(&b); err != nil {
				return err
			}
		}
		return nil
	case "/v1.Simple/Silent":
		return nil
	case "/v1.Simple/Broken":
		_ = st.SendMsg(&got[0])
		return status.Error(codes.DataLoss, "half of it is gone")
	}
	return status.Error(codes.Unimplemented, "unknown method")
}

// driver is the engine in small: it keeps calls in flight until a number of them has ended.
type driver struct {
	tr    service.Transport
	calls []*service.Call
	left  atomic.Int64
	ended chan *service.Call // calls that are not sent again
	onEnd func(c *service.Call)
	onRsp func(payload []byte)
}

func (d *driver) Response(_ *service.Call, payload []byte, _ int64, _ bool) {
	if d.onRsp != nil {
		d.onRsp(payload)
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
	d.tr.Send(c)
}

// run makes n calls, as many at once as there are slots, and waits for them.
func (d *driver) run(n int) {
	d.left.Store(int64(n - len(d.calls)))
	for _, c := range d.calls {
		d.tr.Send(c)
	}
	d.tr.Flush()
	for range d.calls {
		<-d.ended
	}
}

// newOpaque makes a service with the policies of perf_analyzer mode.
func newOpaque(t testing.TB, target plan.Target) *dynamicgrpc.Service {
	t.Helper()
	target.LazyDial, target.OpaqueMessages = true, true
	return newService(t, target)
}

func newService(t testing.TB, target plan.Target) *dynamicgrpc.Service {
	t.Helper()
	svc, err := dynamicgrpc.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	if _, err := svc.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return svc
}

// open prepares a request and makes slots for it.
func open(t testing.TB, svc *dynamicgrpc.Service, in service.Inputs, slots int) *driver {
	t.Helper()
	req, err := svc.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{ended: make(chan *service.Call, slots)}
	if d.tr, err = svc.Open(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.tr.Close() })
	if err := d.tr.Grow(t.Context(), slots); err != nil {
		t.Fatal(err)
	}
	for i := range slots {
		d.calls = append(d.calls, &service.Call{Slot: i, Req: req})
	}
	return d
}

// command is the input of a step with a generator.
func command(text string) service.Inputs {
	return service.Inputs{Tensors: []tensor.Tensor{{
		Name: dynamicgrpc.Generator, Type: tensor.Bytes, Shape: tensor.Shape{}, Data: tensor.AppendElement(nil, text),
	}}}
}

// messages is the input of a step with JSON.
func messages(text string) service.Inputs {
	return service.Inputs{Tensors: []tensor.Tensor{{
		Name: dynamicgrpc.Messages, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: []byte(text),
	}}}
}

func simpleProto(t testing.TB) []string {
	t.Helper()
	return []string{filepath.Join("testdata", "api", "simple.proto")}
}
