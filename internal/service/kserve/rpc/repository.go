package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// ModelConfig implements service.Controller.
func (s *Service) ModelConfig(ctx context.Context, model string) ([]byte, error) {
	var r pb.ModelConfigResponse
	if err := s.call(ctx, kserve.OpConfig, "ModelConfig", &pb.ModelConfigRequest{Name: model}, &r); err != nil {
		return nil, err
	}
	if hasUnknown(r.GetConfig().ProtoReflect()) {
		return nil, fmt.Errorf("the configuration of the model %q has fields that this version of Redline does not know, and gRPC does not name them; use -i http", model)
	}
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(r.GetConfig())
}

// hasUnknown tells whether a message, or one in it, has fields that its definition here does not have.
func hasUnknown(m protoreflect.Message) bool {
	found := errors.New("found")
	return protorange.Range(m, func(v protopath.Values) error {
		if inner, ok := v.Index(-1).Value.Interface().(protoreflect.Message); ok && len(inner.GetUnknown()) > 0 {
			return found
		}
		return nil
	}) != nil
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
