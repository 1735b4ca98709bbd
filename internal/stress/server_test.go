package stress_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// server keeps running sums as it must, but for what a test makes it do wrong.
type server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	Addr string

	mu       sync.Mutex
	requests int
	sums     map[string]int32
	// seen is every request, by correlation id, as flags and value.
	seen map[string][]string
	// The faults: each is asked with the number of the request, from 1.
	offBy    func(n int) int32
	hang     func(n int) bool
	keepEnd  bool             // END does not end a sequence
	anyStart bool             // a first request needs no START
	away     func(n int) bool // the request is refused
	// Two sequences that are under way are mixed up, once: their answers, or their sums.
	swapAnswers, swapSums bool
	keepFor               time.Duration // idle sequences are forgotten after this; 0 is never
	lastSeen              map[string]time.Time
}

func serve(t *testing.T, change func(*server)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Addr: l.Addr().String(), sums: map[string]int32{}, seen: map[string][]string{}, lastSeen: map[string]time.Time{}}
	if change != nil {
		change(s)
	}
	g := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(g, s)
	go g.Serve(l)
	t.Cleanup(g.Stop)
	return s
}

func (s *server) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "fake"}, nil
}

func (s *server) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	tensor := func(name string) []*pb.ModelMetadataResponse_TensorMetadata {
		return []*pb.ModelMetadataResponse_TensorMetadata{{Name: name, Datatype: "INT32", Shape: []int64{-1, 1}}}
	}
	return &pb.ModelMetadataResponse{Name: r.GetName(), Inputs: tensor("INPUT"), Outputs: tensor("OUTPUT")}, nil
}

func (s *server) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	return &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name: r.GetName(), MaxBatchSize: 8,
		SchedulingChoice: &pb.ModelConfig_SequenceBatching{SequenceBatching: &pb.ModelSequenceBatching{}},
	}}, nil
}

func (s *server) ModelStatistics(context.Context, *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.ModelStatisticsResponse{ModelStats: []*pb.ModelStatistics{{Name: "m", Version: "1", InferenceCount: uint64(s.requests)}}}, nil
}

func (s *server) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	resp, text, ok := s.infer(r)
	switch {
	case !ok:
		<-ctx.Done()
		return nil, ctx.Err()
	case text != "":
		return nil, status.Error(codes.InvalidArgument, text)
	}
	return resp, nil
}

func (s *server) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		resp, text, ok := s.infer(r)
		if !ok {
			<-stream.Context().Done()
			return nil
		}
		if err := stream.Send(&pb.ModelStreamInferResponse{InferResponse: resp, ErrorMessage: text}); err != nil {
			return err
		}
	}
}

// infer answers one request; not ok when it must hang.
func (s *server) infer(r *pb.ModelInferRequest) (resp *pb.ModelInferResponse, fault string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	id := r.GetParameters()["sequence_id"].GetStringParam()
	if id == "" {
		id = fmt.Sprint(r.GetParameters()["sequence_id"].GetInt64Param())
	}
	start, end := r.GetParameters()["sequence_start"].GetBoolParam(), r.GetParameters()["sequence_end"].GetBoolParam()
	value := int32(binary.LittleEndian.Uint32(r.GetRawInputContents()[0]))
	s.seen[id] = append(s.seen[id], fmt.Sprintf("%t %t %d", start, end, value))
	resp = &pb.ModelInferResponse{ModelName: r.GetModelName(), Id: r.GetId()}
	if s.hang != nil && s.hang(s.requests) {
		return nil, "", false
	}
	if s.away != nil && s.away(s.requests) {
		return resp, "Request for unknown model: 'm' is not found", true
	}
	if other := s.other(id); other != "" && !start && s.swapSums {
		s.sums[id], s.sums[other] = s.sums[other], s.sums[id]
		s.swapSums = false
	}
	sum, live := s.sums[id]
	if s.keepFor > 0 && time.Since(s.lastSeen[id]) > s.keepFor {
		live = false
	}
	s.lastSeen[id] = time.Now()
	if !live && !start && !s.anyStart {
		return resp, "inference request for sequence " + id + " to model 'm' must specify the START flag on the first request of the sequence", true
	}
	if start || !live {
		sum = 0
	}
	sum += value
	s.sums[id] = sum
	if end && !s.keepEnd {
		delete(s.sums, id)
	}
	if s.offBy != nil {
		sum += s.offBy(s.requests)
	}
	if other := s.other(id); other != "" && s.swapAnswers {
		sum = s.sums[other]
		s.swapAnswers = false
	}
	resp.Outputs = []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUTPUT", Datatype: "INT32", Shape: []int64{1, 1}}}
	resp.RawOutputContents = [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(sum))}
	return resp, "", true
}

// other is another sequence that is under way, late enough in the run.
func (s *server) other(id string) string {
	for o := range s.sums {
		if _, live := s.sums[id]; live && o != id && s.requests > 300 {
			return o
		}
	}
	return ""
}
