// Package sums is a server for tests that keeps a running sum for each sequence, as it must, but for what a test
// makes it do wrong on purpose.
package sums

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// Faults is what the server does wrong. Functions are asked with the number of the request, from 1.
type Faults struct {
	OffBy    func(n int) int32 // is added to the answer, not to the sum
	Hang     func(n int) bool  // the request is never answered
	Away     func(n int) bool  // the request is refused
	KeepEnd  bool              // END does not end a sequence
	AnyStart bool              // a first request needs no START
	// Two sequences that are under way are mixed up, once: their answers, or their sums.
	SwapAnswers, SwapSums bool
	// KeepFor is no fault: idle sequences are forgotten after this; 0 is never.
	KeepFor time.Duration
}

// Server listens on a port of its own until the test ends.
type Server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	Addr   string
	faults Faults

	mu       sync.Mutex
	requests int
	sums     map[string]int32
	lastSeen map[string]time.Time
	seen     map[string][]string
}

// Start starts a server.
func Start(t testing.TB, faults Faults) *Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), faults: faults, sums: map[string]int32{}, seen: map[string][]string{}, lastSeen: map[string]time.Time{}}
	g := grpc.NewServer()
	pb.RegisterGRPCInferenceServiceServer(g, s)
	go func() { _ = g.Serve(l) }() // it ends when the test does
	t.Cleanup(g.Stop)
	return s
}

// Requests is how many came.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Seen is every request, by correlation id, as START, END and value.
func (s *Server) Seen() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.seen)
}

// ServerMetadata implements the service.
func (s *Server) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "fake"}, nil
}

// ModelMetadata implements the service.
func (s *Server) ModelMetadata(_ context.Context, r *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	tensor := func(name string) []*pb.ModelMetadataResponse_TensorMetadata {
		return []*pb.ModelMetadataResponse_TensorMetadata{{Name: name, Datatype: "INT32", Shape: []int64{-1, 1}}}
	}
	return &pb.ModelMetadataResponse{Name: r.GetName(), Inputs: tensor("INPUT"), Outputs: tensor("OUTPUT")}, nil
}

// ModelConfig implements the service.
func (s *Server) ModelConfig(_ context.Context, r *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	return &pb.ModelConfigResponse{Config: &pb.ModelConfig{
		Name: r.GetName(), MaxBatchSize: 8,
		SchedulingChoice: &pb.ModelConfig_SequenceBatching{SequenceBatching: &pb.ModelSequenceBatching{}},
	}}, nil
}

// ModelStatistics implements the service.
func (s *Server) ModelStatistics(context.Context, *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.ModelStatisticsResponse{ModelStats: []*pb.ModelStatistics{{Name: "m", Version: "1", InferenceCount: uint64(s.requests)}}}, nil
}

// ModelInfer implements the service.
func (s *Server) ModelInfer(ctx context.Context, r *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
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

// ModelStreamInfer implements the service.
func (s *Server) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
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
func (s *Server) infer(r *pb.ModelInferRequest) (resp *pb.ModelInferResponse, fault string, ok bool) {
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
	if s.faults.Hang != nil && s.faults.Hang(s.requests) {
		return nil, "", false
	}
	if s.faults.Away != nil && s.faults.Away(s.requests) {
		return resp, "Request for unknown model: 'm' is not found", true
	}
	if other := s.other(id); other != "" && !start && s.faults.SwapSums {
		s.sums[id], s.sums[other] = s.sums[other], s.sums[id]
		s.faults.SwapSums = false
	}
	sum, live := s.sums[id]
	if s.faults.KeepFor > 0 && time.Since(s.lastSeen[id]) > s.faults.KeepFor {
		live = false
	}
	s.lastSeen[id] = time.Now()
	if !live && !start && !s.faults.AnyStart {
		return resp, "inference request for sequence " + id + " to model 'm' must specify the START flag on the first request of the sequence", true
	}
	if start || !live {
		sum = 0
	}
	sum += value
	s.sums[id] = sum
	if end && !s.faults.KeepEnd {
		delete(s.sums, id)
	}
	if s.faults.OffBy != nil {
		sum += s.faults.OffBy(s.requests)
	}
	if other := s.other(id); other != "" && s.faults.SwapAnswers {
		sum = s.sums[other]
		s.faults.SwapAnswers = false
	}
	resp.Outputs = []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUTPUT", Datatype: "INT32", Shape: []int64{1, 1}}}
	resp.RawOutputContents = [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(sum))}
	return resp, "", true
}

// other is another sequence that is under way, late enough in the run.
func (s *Server) other(id string) string {
	for o := range s.sums {
		if _, live := s.sums[id]; live && o != id && s.requests > 300 {
			return o
		}
	}
	return ""
}
