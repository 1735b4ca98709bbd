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

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// Request tells which request the server has. The order of requests with one correlation id does not depend on timing.
type Request struct {
	At
	N     int // of all requests, from 1; depends on timing
	Start bool
}

// At names a request by its correlation id, the number of the sequence with this id, from 1, and the position in that
// sequence, from 1.
type At struct {
	ID                 string
	Sequence, Position int
}

// Faults is what the server does wrong. What is nil or false is right. The functions may block until ctx ends, and are
// called from several goroutines.
type Faults struct {
	OffBy    func(r Request) int32 // is added to the answer, not to the sum
	Hang     func(r Request) bool  // the request is never answered
	Away     func(r Request) bool  // the request is refused
	Forget   func(r Request) bool  // the sequence is forgotten before the request, as after a long pause
	KeepEnd  bool                  // END does not end a sequence
	AnyStart bool                  // a first request needs no START
	// Before is called before the request is served.
	Before func(ctx context.Context, s *Server, r Request)
	// Answer replaces the answer to a request.
	Answer func(ctx context.Context, r Request, sum int32) int32
	// OtherID has the answer carry the id of a request that this stream has not sent.
	OtherID func(r Request) bool
}

// Server listens on a port of its own until the test ends.
type Server struct {
	pb.UnimplementedGRPCInferenceServiceServer
	Addr   string
	faults Faults

	mu       sync.Mutex
	requests int
	sums     map[string]int32
	last     map[string]At // the last request with this id
	seen     map[string][]string
}

// Start starts a server.
func Start(t testing.TB, faults Faults) *Server {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), faults: faults, sums: map[string]int32{}, seen: map[string][]string{}, last: map[string]At{}}
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
	resp, text, ok := s.infer(ctx, r)
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
		resp, text, ok := s.infer(stream.Context(), r)
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
func (s *Server) infer(ctx context.Context, r *pb.ModelInferRequest) (resp *pb.ModelInferResponse, fault string, ok bool) {
	f := &s.faults
	end, value := r.GetParameters()["sequence_end"].GetBoolParam(), int32(binary.LittleEndian.Uint32(r.GetRawInputContents()[0]))
	req := s.note(r, end, value)
	resp = &pb.ModelInferResponse{ModelName: r.GetModelName(), Id: r.GetId()}
	if f.Before != nil {
		f.Before(ctx, s, req)
	}
	if f.Hang != nil && f.Hang(req) {
		return nil, "", false
	}
	if f.Away != nil && f.Away(req) {
		return resp, "Request for unknown model: 'm' is not found", true
	}
	sum, ok := s.add(req, end, value)
	if !ok {
		return resp, "inference request for sequence " + req.ID + " to model 'm' must specify the START flag on the first request of the sequence", true
	}
	if f.OffBy != nil {
		sum += f.OffBy(req)
	}
	if f.Answer != nil {
		sum = f.Answer(ctx, req, sum)
	}
	if f.OtherID != nil && f.OtherID(req) {
		resp.Id = "0"
	}
	resp.Outputs = []*pb.ModelInferResponse_InferOutputTensor{{Name: "OUTPUT", Datatype: "INT32", Shape: []int64{1, 1}}}
	resp.RawOutputContents = [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(sum))}
	return resp, "", true
}

// note writes a request down.
func (s *Server) note(r *pb.ModelInferRequest, end bool, value int32) Request {
	id := r.GetParameters()["sequence_id"].GetStringParam()
	if id == "" {
		id = fmt.Sprint(r.GetParameters()["sequence_id"].GetInt64Param())
	}
	start := r.GetParameters()["sequence_start"].GetBoolParam()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.seen[id] = append(s.seen[id], fmt.Sprintf("%t %t %d", start, end, value))
	at := At{id, s.last[id].Sequence, s.last[id].Position + 1}
	if start {
		at.Sequence, at.Position = at.Sequence+1, 1
	}
	s.last[id] = at
	return Request{At: at, N: s.requests, Start: start}
}

// add makes the sum; not ok where START is missing.
func (s *Server) add(r Request, end bool, value int32) (sum int32, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.Forget != nil && s.faults.Forget(r) {
		delete(s.sums, r.ID)
	}
	sum, live := s.sums[r.ID]
	if !live && !r.Start && !s.faults.AnyStart {
		return 0, false
	}
	if r.Start {
		sum = 0
	}
	sum += value
	s.sums[r.ID] = sum
	if end && !s.faults.KeepEnd {
		delete(s.sums, r.ID)
	}
	return sum, true
}
