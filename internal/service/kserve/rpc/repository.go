package rpc

import (
	"context"

	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// ModelConfig implements service.Controller.
func (s *Service) ModelConfig(ctx context.Context, model string) ([]byte, error) {
	var r pb.ModelConfigResponse
	if err := s.call(ctx, kserve.OpConfig, "ModelConfig", &pb.ModelConfigRequest{Name: model}, &r); err != nil {
		return nil, err
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(r.GetConfig())
}

// LoadModel implements service.Controller.
func (s *Service) LoadModel(ctx context.Context, model string, config []byte) error {
	req := &pb.RepositoryModelLoadRequest{ModelName: model}
	if config != nil {
		req.Parameters = map[string]*pb.ModelRepositoryParameter{
			"config": {ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: string(config)}},
		}
	}
	return s.call(ctx, kserve.OpLoad, "RepositoryModelLoad", req, &pb.RepositoryModelLoadResponse{})
}

// UnloadModel implements service.Controller.
func (s *Service) UnloadModel(ctx context.Context, model string) error {
	return s.call(ctx, kserve.OpUnload, "RepositoryModelUnload", &pb.RepositoryModelUnloadRequest{ModelName: model}, &pb.RepositoryModelUnloadResponse{})
}
