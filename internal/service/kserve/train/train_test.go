package train_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/train"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// server answers each value with itself plus one: 0 is refused, 1 hangs, 2 closes the stream, 3 is answered with another id.
type server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	started chan struct{} // a request that hangs has come
}

func (s *server) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		v := binary.LittleEndian.Uint32(r.GetRawInputContents()[0])
		resp := &pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{
			Id: r.GetId(), Outputs: []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUT", Datatype: "UINT32", Shape: []int64{1}}},
			RawOutputContents: [][]byte{binary.LittleEndian.AppendUint32(nil, v+1)},
		}}
		switch v {
		case 0:
			resp = &pb.ModelStreamInferResponse{ErrorMessage: "zero is refused"}
		case 1:
			s.started <- struct{}{}
			<-stream.Context().Done()
			return nil
		case 2:
			return nil
		case 3:
			resp.InferResponse.Id = "9999"
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// ended is a call as its sink saw it.
type ended struct {
	class   record.Class
	text    string
	answers []uint32
}

type sink struct {
	t       *testing.T
	svc     *train.Service
	answers map[*service.Call][]uint32
	ends    chan ended
}

func (s *sink) Response(c *service.Call, payload []byte, _ int64, _ bool) {
	out, err := s.svc.Outputs(payload)
	if err != nil || len(out) != 1 {
		s.t.Errorf("%v, %v", out, err)
		return
	}
	s.answers[c] = append(s.answers[c], binary.LittleEndian.Uint32(out[0].Data))
}

func (s *sink) Done(c *service.Call) {
	e := ended{class: c.Rec.Class, answers: s.answers[c]}
	if c.Err != nil {
		e.text = c.Err.Error()
	}
	delete(s.answers, c)
	s.ends <- e
}

type fixture struct {
	sink   *sink
	tr     service.Transport
	server *server
}

// open starts a server and a transport to it.
func open(t *testing.T) *fixture {
	t.Helper()
	l := testkit.Listen(t, "127.0.0.1:0")
	s := &server{started: make(chan struct{}, 1)}
	g := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(g, s)
	testkit.ServeGRPC(t, g, l)
	f := openAt(t, l.Addr().String())
	f.server = s
	return f
}

// openAt makes a transport to an address.
func openAt(t *testing.T, addr string) *fixture {
	t.Helper()
	svc, err := train.New(plan.Target{Model: "m", URL: addr}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{}
	f.sink = &sink{t: t, svc: svc, answers: map[*service.Call][]uint32{}, ends: make(chan ended, 1)}
	if f.tr, err = svc.Open(context.Background(), f.sink); err == nil {
		err = f.tr.Grow(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) send(t *testing.T, values ...uint32) *service.Call {
	t.Helper()
	cars := make([]service.Car, len(values))
	for i, v := range values {
		cars[i] = service.Car{ID: 7, Start: i == 0, End: i == len(values)-1, Inputs: service.Inputs{
			Tensors: []tensor.Tensor{{Name: "IN", Type: tensor.Uint32, Shape: tensor.Shape{1}, Data: binary.LittleEndian.AppendUint32(nil, v)}},
			Outputs: []string{"OUT"},
		}}
	}
	req, err := f.sink.svc.Train(cars)
	if err != nil {
		t.Fatal(err)
	}
	c := &service.Call{Req: req}
	f.tr.Send(c)
	return c
}

func (f *fixture) want(t *testing.T, class record.Class, text string, answers ...uint32) {
	t.Helper()
	select {
	case e := <-f.sink.ends:
		if e.class != class || !strings.Contains(e.text, text) || !cmp.Equal(e.answers, answers) {
			t.Errorf("%+v, want %s, %q, %v", e, class, text, answers)
		}
	case <-time.After(testkit.Limit):
		t.Fatal("the call does not end")
	}
}

func TestTrains(t *testing.T) {
	f := open(t)
	many := make([]uint32, 2_000) // several times what fits into the window of a stream, 64 KiB
	answers := make([]uint32, len(many))
	for i := range many {
		many[i], answers[i] = uint32(i+10), uint32(i+11)
	}
	f.send(t, many...)
	f.want(t, record.OK, "", answers...)
	f.send(t, 10)
	f.want(t, record.OK, "", 11)
	f.send(t, 10, 11, 0, 12)
	f.want(t, record.Server, "zero is refused", 11, 12)
	f.send(t, 10, 20)
	f.want(t, record.OK, "", 11, 21)
	f.send(t, 10, 2, 11)
	f.want(t, record.Transport, "the server closed the stream", 11)
	f.send(t, 10, 3, 11)
	f.want(t, record.Protocol, "the answer to request 9999 came where", 11)
	f.send(t, 1, 11)
	<-f.server.started
	f.tr.Cut(0, record.Timeout)
	f.want(t, record.Timeout, "Deadline Exceeded")
	f.send(t, 10)
	f.want(t, record.OK, "", 11)
	f.send(t, 1, 10)
	<-f.server.started
	if err := f.tr.Close(); err != nil {
		t.Error(err)
	}
	f.want(t, record.Canceled, "")
}

func TestNobodyThere(t *testing.T) {
	f := openAt(t, testkit.Port(t))
	f.send(t, 10)
	f.want(t, record.Connect, "dial")
	if err := f.tr.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenWantsALiveContext(t *testing.T) {
	svc, err := train.New(plan.Target{Model: "m", URL: "127.0.0.1:1"}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := svc.Open(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
