package rpc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
)

// A server that is not Triton ends a stream for each request after the responses to it.
func TestStreamOfPlainServer(t *testing.T) {
	f := func(name, text string, responses int, fn func(r *pb.ModelInferRequest, st bidiServer) error) {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, &fake{stream: fn})
			svc, d := open(t, plan.Target{URL: f.addr, Streaming: true, Extensions: plan.NoExtensions}, inputs(), 1)
			d.onRsp = func(_ *service.Call, payload []byte, _ int64, empty bool) {
				if got, err := svc.Outputs(payload); err != nil || empty != (len(got) == 0) {
					t.Errorf("%v, %v", got, err)
				}
			}
			d.run(2)
			var e *service.Error
			switch c := d.calls[0]; {
			case int(c.Rec.Responses) != responses:
				t.Errorf("%d responses, want %d", c.Rec.Responses, responses)
			case text == "" && (c.Err != nil || c.Rec.Class != record.OK || c.Rec.End < c.Rec.First):
				t.Errorf("%+v, %v", c.Rec, c.Err)
			case text != "" && (!errors.As(c.Err, &e) || e.Text != text):
				t.Errorf("got %v", c.Err)
			}
		})
	}
	f("as MLServer sends them", "", 3, func(r *pb.ModelInferRequest, st bidiServer) error {
		for range 3 {
			if err := st.SendMsg(echo(r)); err != nil {
				return err
			}
		}
		return nil
	})
	f("wrapped", "", 2, func(r *pb.ModelInferRequest, st bidiServer) error {
		for range 2 {
			if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)}); err != nil {
				return err
			}
		}
		return nil
	})
	f("with an empty final response", "", 1, func(r *pb.ModelInferRequest, st bidiServer) error {
		return errors.Join(
			st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), false)}),
			st.Send(&pb.ModelStreamInferResponse{InferResponse: empty(r)}))
	})
	f("none", "", 0, func(*pb.ModelInferRequest, bidiServer) error { return nil })
	f("error message", "it failed", 0, func(_ *pb.ModelInferRequest, st bidiServer) error {
		return st.Send(&pb.ModelStreamInferResponse{ErrorMessage: "it failed"})
	})
	f("status", "no memory", 1, func(r *pb.ModelInferRequest, st bidiServer) error {
		if err := st.SendMsg(echo(r)); err != nil {
			return err
		}
		return status.Error(codes.ResourceExhausted, "no memory")
	})
	f("not there", "the server has no streaming inference: leave --streaming out (unknown method)", 0, func(*pb.ModelInferRequest, bidiServer) error {
		return status.Error(codes.Unimplemented, "unknown method")
	})
	f("another id", "the answer's id is not the request's", 0, func(r *pb.ModelInferRequest, st bidiServer) error {
		a := echo(r)
		a.Id = "77"
		return st.SendMsg(a)
	})
}

// Such a server has no model configuration: the metadata are all that it states.
func TestDescribePlainServer(t *testing.T) {
	f := startFake(t, &fake{})
	svc, err := rpc.New(plan.Target{URL: f.addr, Model: "echo", Extensions: plan.NoExtensions}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	m, err := svc.Describe(t.Context())
	if err != nil || !m.Unconfigured || m.Inputs[0].Shape.String() != "[-1,16]" {
		t.Errorf("%+v, %v", m, err)
	}
	if diff := cmp.Diff([]string{"no server-side times: the server does not list the extension statistics"}, svc.Remarks()); diff != "" {
		t.Error(diff)
	}
}
