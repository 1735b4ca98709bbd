package rpc_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
)

// An output of another size than its datatype and shape need is a failure, over both kinds of call. A server whose Python
// backend does not fit its numpy answers every request with outputs of no bytes.
func TestOutputSizes(t *testing.T) {
	const fits = ""
	int32s := func(n int) *pb.InferTensorContents { return &pb.InferTensorContents{IntContents: make([]int32, n)} }
	for name, tc := range map[string]struct {
		edit func(r *pb.ModelInferResponse)
		want string
	}{
		"as it must be": {func(*pb.ModelInferResponse) {}, fits},
		"nothing written": {
			func(r *pb.ModelInferResponse) { r.RawOutputContents[0] = nil },
			"output OUT has 0 bytes, which does not fit its datatype and shape, INT32 [1,16]: the model wrote nothing; a Python backend does so when its numpy is 2.x",
		},
		"too short":       {func(r *pb.ModelInferResponse) { r.RawOutputContents[0] = make([]byte, 60) }, "has 60 bytes"},
		"too long":        {func(r *pb.ModelInferResponse) { r.RawOutputContents[0] = make([]byte, 68) }, "has 68 bytes"},
		"another type":    {func(r *pb.ModelInferResponse) { r.Outputs[0].Datatype = "FP64" }, "FP64 [1,16]"},
		"no elements":     {func(r *pb.ModelInferResponse) { r.Outputs[0].Shape[1], r.RawOutputContents[0] = 0, nil }, fits},
		"a newer type":    {func(r *pb.ModelInferResponse) { r.Outputs[0].Datatype = "FP4" }, fits},
		"text":            {func(r *pb.ModelInferResponse) { r.Outputs[0].Datatype = "BYTES" }, fits}, // 16 lengths of zero
		"text cut off":    {func(r *pb.ModelInferResponse) { r.Outputs[0].Datatype, r.Outputs[0].Shape[1] = "BYTES", 17 }, "BYTES [1,17]"},
		"typed":           {func(r *pb.ModelInferResponse) { r.Outputs[0].Contents, r.RawOutputContents = int32s(16), nil }, fits},
		"typed too short": {func(r *pb.ModelInferResponse) { r.Outputs[0].Contents, r.RawOutputContents = int32s(15), nil }, "has 60 bytes"},
	} {
		answer := func(q *pb.ModelInferRequest) *pb.ModelInferResponse {
			r := echo(q)
			r.RawOutputContents[0] = make([]byte, 64)
			tc.edit(r)
			return r
		}
		srv := startFake(t, &fake{
			infer: func(_ context.Context, q *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
				return answer(q), nil
			},
			stream: func(q *pb.ModelInferRequest, s grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error {
				return s.Send(&pb.ModelStreamInferResponse{InferResponse: answer(q)})
			},
		})
		for _, streaming := range []bool{false, true} {
			c := once(t, plan.Target{URL: srv.addr, Streaming: streaming}, inputs())
			good := tc.want == fits && c.Err == nil && c.Rec.Class == record.OK
			bad := tc.want != fits && c.Rec.Class == record.Protocol && strings.Contains(c.Err.Error(), tc.want)
			if !good && !bad {
				t.Errorf("%s, streaming %v: %v: %v", name, streaming, c.Rec.Class, c.Err)
			}
		}
	}
}
