// Package kgrpc serves the KServe v2 protocol over gRPC with Triton's extensions: inference.GRPCInferenceService, unary
// and streaming. Status codes and texts are Triton's.
package kgrpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Service answers the calls of one server.
type Service struct {
	kserve.UnimplementedGRPCInferenceServiceServer
	core *core.Core
}

// Register adds the service of a core to a gRPC server.
func Register(s *grpc.Server, c *core.Core) {
	kserve.RegisterGRPCInferenceServiceServer(s, New(c))
}

// failure carries an error as a gRPC status.
func failure(err error) error {
	if err == nil {
		return nil
	}
	return status.Error(infer.CodeOf(err).GRPC(), err.Error())
}

// ServerLive says that the server runs.
func (s *Service) ServerLive(context.Context, *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return &kserve.ServerLiveResponse{Live: true}, nil
}

// ServerReady says that the server accepts requests.
func (s *Service) ServerReady(context.Context, *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return &kserve.ServerReadyResponse{Ready: true}, nil
}

// ModelReady reports whether a model is loaded.
func (s *Service) ModelReady(_ context.Context, r *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	_, err := s.core.Models.Get(r.GetName(), r.GetVersion())
	if err != nil && infer.CodeOf(err) == infer.InvalidArg {
		return nil, failure(err) // the version is not a number
	}
	return &kserve.ModelReadyResponse{Ready: err == nil}, nil
}

// ServerMetadata describes the server.
func (s *Service) ServerMetadata(context.Context, *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	return core.ServerMetadata(), nil
}

// ModelMetadata describes the tensors of a model.
func (s *Service) ModelMetadata(_ context.Context, r *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	out, err := s.core.ModelMetadata(r.GetName(), r.GetVersion())
	return out, failure(err)
}

// ModelStatistics gives the counters of one model, or of all.
func (s *Service) ModelStatistics(_ context.Context, r *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	out, err := s.core.Statistics(r.GetName(), r.GetVersion())
	return out, failure(err)
}

// ModelConfig gives the whole configuration of a model.
func (s *Service) ModelConfig(_ context.Context, r *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	m, err := s.core.Models.Get(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, failure(err)
	}
	return &kserve.ModelConfigResponse{Config: m.Config}, nil
}

// New makes the service of a core, for callers that bring their own transport.
func New(c *core.Core) *Service { return &Service{core: c} }
