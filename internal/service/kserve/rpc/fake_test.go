package rpc_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // so that the server understands compressed requests
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/testkit"
)

// fake is a server on grpc-go, an implementation that shares nothing with ours. Its model returns its inputs.
type fake struct {
	pb.UnimplementedGRPCInferenceServiceServer
	addr string
	srv  *grpc.Server

	infer  func(context.Context, *pb.ModelInferRequest) (*pb.ModelInferResponse, error)
	stream func(*pb.ModelInferRequest, grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error

	trace map[string]*pb.TraceSettingResponse_SettingValue
	shm   regions

	asked chan struct{} // is told of each request, where it is set

	mu    sync.Mutex
	seen  []*pb.ModelInferRequest
	md    []metadata.MD
	count atomic.Int64
}

// regions is the memory that a fake shares with its clients.
type regions struct {
	mu    sync.Mutex
	log   []string
	files map[string]string
}

func startFake(t testing.TB, f *fake, opts ...grpc.ServerOption) *fake {
	t.Helper()
	f.serve(t, testkit.Listen(t, "127.0.0.1:0"), opts...)
	return f
}

func (f *fake) serve(t testing.TB, ln net.Listener, opts ...grpc.ServerOption) {
	f.addr = ln.Addr().String()
	f.srv = grpc.NewServer(opts...)
	pb.RegisterGRPCInferenceServiceServer(f.srv, f)
	testkit.ServeGRPC(t, f.srv, ln)
}

func (f *fake) note(ctx context.Context, r *pb.ModelInferRequest) {
	f.count.Add(1)
	f.mu.Lock()
	if len(f.seen) < 4 {
		f.seen = append(f.seen, proto.CloneOf(r))
		md, _ := metadata.FromIncomingContext(ctx)
		f.md = append(f.md, md)
	}
	f.mu.Unlock()
	if f.asked != nil {
		f.asked <- struct{}{}
	}
}

func (f *fake) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	f.note(ctx, r)
	if f.infer != nil {
		return f.infer(ctx, r)
	}
	return echo(r), nil
}

// echo answers with the inputs, under the names of the requested outputs.
func echo(r *pb.ModelInferRequest) *pb.ModelInferResponse {
	resp := &pb.ModelInferResponse{ModelName: r.GetModelName(), ModelVersion: "1", Id: r.GetId()}
	for i, in := range r.GetInputs() {
		resp.Outputs = append(resp.Outputs, &pb.ModelInferResponse_InferOutputTensor{
			Name: r.GetOutputs()[i].GetName(), Datatype: in.GetDatatype(), Shape: in.GetShape(),
		})
		resp.RawOutputContents = append(resp.RawOutputContents, r.GetRawInputContents()[i])
	}
	return resp
}

func (f *fake) ModelStreamInfer(st grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]) error {
	for {
		r, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.note(st.Context(), r)
		if f.stream != nil {
			err = f.stream(r, st)
		} else {
			err = st.Send(&pb.ModelStreamInferResponse{InferResponse: echo(r)})
		}
		if err != nil {
			return err
		}
	}
}

func (f *fake) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "fake", Extensions: []string{"statistics"}}, nil
}

func (f *fake) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	if r.GetName() != "echo" {
		return nil, status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", r.GetName())
	}
	return &pb.ModelMetadataResponse{
		Name: "echo", Versions: []string{"1"}, Platform: "test",
		Inputs:  []*pb.ModelMetadataResponse_TensorMetadata{{Name: "IN", Datatype: "INT32", Shape: []int64{-1, 16}}},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "OUT", Datatype: "INT32", Shape: []int64{-1, 16}}},
	}, nil
}

func (f *fake) ModelConfig(context.Context, *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	return &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name: "echo", MaxBatchSize: 8,
		Input:  []*pb.ModelInput{{Name: "IN"}},
		Output: []*pb.ModelOutput{{Name: "OUT"}},
		SchedulingChoice: &pb.ModelConfig_DynamicBatching{
			DynamicBatching: &pb.ModelDynamicBatching{MaxQueueDelayMicroseconds: 3000},
		},
	}}, nil
}

func (f *fake) ModelStatistics(_ context.Context, r *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	n := uint64(f.count.Load())
	d := func(ns uint64) *pb.StatisticDuration { return &pb.StatisticDuration{Count: n, Ns: n * ns} }
	return &pb.ModelStatisticsResponse{ModelStats: []*pb.ModelStatistics{{
		Name: r.GetName(), Version: "1", InferenceCount: n, ExecutionCount: n,
		InferenceStats: &pb.InferStatistics{
			Success: d(10), Queue: d(1), ComputeInput: d(2), ComputeInfer: d(3), ComputeOutput: d(4), CacheHit: d(5), CacheMiss: d(6),
		},
	}}}, nil
}

func (f *fake) TraceSetting(_ context.Context, r *pb.TraceSettingRequest) (*pb.TraceSettingResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trace == nil {
		f.trace = map[string]*pb.TraceSettingResponse_SettingValue{
			"trace_level": {Value: []string{"OFF"}}, "trace_rate": {Value: []string{"1000"}}, "mode": {Value: []string{"triton"}},
		}
	}
	for key, v := range r.GetSettings() {
		f.trace[key] = &pb.TraceSettingResponse_SettingValue{Value: v.GetValue()}
	}
	out := &pb.TraceSettingResponse{Settings: map[string]*pb.TraceSettingResponse_SettingValue{}}
	maps.Copy(out.Settings, f.trace)
	return out, nil
}
