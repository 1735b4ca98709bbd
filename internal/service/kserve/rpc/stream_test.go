package rpc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

type bidiServer = grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]

func final(r *pb.ModelInferResponse, v bool) *pb.ModelInferResponse {
	r.Parameters = map[string]*pb.InferParameter{
		"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}},
	}
	return r
}

func empty(r *pb.ModelInferRequest) *pb.ModelInferResponse {
	return final(&pb.ModelInferResponse{ModelName: r.GetModelName(), Id: r.GetId()}, true)
}

// play runs two calls on one slot and returns the second, with the responses that it was told of.
func playStream(t *testing.T, fn func(r *pb.ModelInferRequest, st bidiServer) error) (*service.Call, []string) {
	t.Helper()
	f := startFake(t, &fake{stream: fn})
	_, d := open(t, plan.Target{URL: f.addr, Streaming: true}, inputs(), 1)
	var got []string
	d.onRsp = func(_ *service.Call, payload []byte, _ int64, empty bool) {
		switch {
		case empty:
			got = append(got, "empty")
		case len(payload) > 0:
			got = append(got, "answer")
		}
	}
	d.run(1)
	got = nil
	d.run(1)
	return d.calls[0], got
}

func TestDecoupled(t *testing.T) {
	c, got := playStream(t, func(r *pb.ModelInferRequest, st bidiServer) error {
		for range 3 {
			if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), false)}); err != nil {
				return err
			}
		}
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: empty(r)})
	})
	if diff := cmp.Diff([]string{"answer", "answer", "answer", "empty"}, got); diff != "" {
		t.Error(diff)
	}
	r := c.Rec
	if c.Err != nil || r.Class != record.OK || r.Responses != 3 || r.Flags&record.EmptyFinal == 0 || r.First == 0 || r.End < r.First {
		t.Errorf("record %+v, %v", r, c.Err)
	}
}

func TestDecoupledWithoutAnswers(t *testing.T) {
	c, got := playStream(t, func(r *pb.ModelInferRequest, st bidiServer) error {
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: empty(r)})
	})
	if diff := cmp.Diff([]string{"empty"}, got); diff != "" || c.Err != nil || c.Rec.Responses != 0 {
		t.Errorf("record %+v, %v, %s", c.Rec, c.Err, diff)
	}
}

func TestFinalWithData(t *testing.T) {
	c, got := playStream(t, func(r *pb.ModelInferRequest, st bidiServer) error {
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: final(echo(r), true)})
	})
	if diff := cmp.Diff([]string{"answer"}, got); diff != "" || c.Err != nil || c.Rec.Responses != 1 || c.Rec.Flags&record.EmptyFinal != 0 {
		t.Errorf("record %+v, %v, %s", c.Rec, c.Err, diff)
	}
}

// Servers may leave the id out.
func TestStreamWithoutID(t *testing.T) {
	c, got := playStream(t, func(r *pb.ModelInferRequest, st bidiServer) error {
		a := final(echo(r), true)
		a.Id = ""
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: a})
	})
	if diff := cmp.Diff([]string{"answer"}, got); diff != "" || c.Err != nil || c.Rec.Responses != 1 {
		t.Errorf("record %+v, %v, %s", c.Rec, c.Err, diff)
	}
}

func TestStreamFailures(t *testing.T) {
	f := func(name string, class record.Class, text string, fn func(r *pb.ModelInferRequest, st bidiServer) error) {
		t.Run(name, func(t *testing.T) {
			c, _ := playStream(t, fn)
			var e *service.Error
			if !errors.As(c.Err, &e) || e.Class != class || c.Rec.Class != class || e.Text != text {
				t.Errorf("got %v: %+v", c.Rec.Class, e)
			}
		})
	}
	f("error message", record.Server, "it failed", func(r *pb.ModelInferRequest, st bidiServer) error {
		return st.Send(&pb.ModelStreamInferResponse{ErrorMessage: "it failed", InferResponse: &pb.ModelInferResponse{Id: r.GetId()}})
	})
	f("error message without id", record.Server, "it failed", func(_ *pb.ModelInferRequest, st bidiServer) error {
		return st.Send(&pb.ModelStreamInferResponse{ErrorMessage: "it failed"})
	})
	f("no data", record.Protocol, "the answer does not hold one piece of raw data for each output", func(r *pb.ModelInferRequest, st bidiServer) error {
		a := echo(r)
		a.RawOutputContents = nil
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: a})
	})
	f("stream ends with a status", record.Server, "no more", func(*pb.ModelInferRequest, bidiServer) error {
		return status.Error(codes.ResourceExhausted, "no more")
	})
}

// A late response of a call that has failed belongs to nobody.
func TestStrayResponses(t *testing.T) {
	c, _ := playStream(t, func(r *pb.ModelInferRequest, st bidiServer) error {
		stray := echo(r)
		stray.Id = "999999"
		if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: stray}); err != nil {
			return err
		}
		if err := st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)}); err != nil {
			return err
		}
		return st.Send(&pb.ModelStreamInferResponse{InferResponse: stray})
	})
	if c.Err != nil || c.Rec.Responses != 1 {
		t.Errorf("record %+v, %v", c.Rec, c.Err)
	}
}
