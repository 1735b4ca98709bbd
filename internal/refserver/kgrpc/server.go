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
	"github.com/redline-bench/redline/internal/refserver/model"
)

// Service answers the calls of one server.
type Service struct {
	kserve.UnimplementedGRPCInferenceServiceServer
	core *core.Core
}

// Register adds the service of a core to a gRPC server.
func Register(s *grpc.Server, c *core.Core) {
	kserve.RegisterGRPCInferenceServiceServer(s, &Service{core: c})
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
	return &kserve.ServerMetadataResponse{Name: core.Name, Version: core.Version, Extensions: core.Extensions()}, nil
}

// ModelMetadata describes the tensors of a model.
func (s *Service) ModelMetadata(_ context.Context, r *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	m, err := s.core.Models.Get(r.GetName(), r.GetVersion())
	if err != nil {
		return nil, failure(err)
	}
	d := m.Describe()
	return &kserve.ModelMetadataResponse{
		Name: m.Name(), Versions: s.core.Models.Versions(m.Name()), Platform: m.Platform(),
		Inputs: tensors(d.Inputs), Outputs: tensors(d.Outputs),
	}, nil
}

func tensors(list []model.Tensor) []*kserve.ModelMetadataResponse_TensorMetadata {
	out := make([]*kserve.ModelMetadataResponse_TensorMetadata, 0, len(list))
	for _, t := range list {
		out = append(out, &kserve.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
	}
	return out
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
