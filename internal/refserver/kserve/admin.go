package kserve

import (
	"context"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// ServerLive says that the server runs.
func (s *Server) ServerLive(context.Context, *pb.ServerLiveRequest) (*pb.ServerLiveResponse, error) {
	return &pb.ServerLiveResponse{Live: true}, nil
}

// ServerReady says that the server accepts requests.
func (s *Server) ServerReady(context.Context, *pb.ServerReadyRequest) (*pb.ServerReadyResponse, error) {
	return &pb.ServerReadyResponse{Ready: true}, nil
}

// ModelReady reports whether a model is loaded.
func (s *Server) ModelReady(_ context.Context, in *pb.ModelReadyRequest) (*pb.ModelReadyResponse, error) {
	_, err := s.Models.Get(in.GetName(), in.GetVersion())
	return &pb.ModelReadyResponse{Ready: err == nil}, nil
}

// ServerMetadata describes the server: Triton 2.51, whose protocol it follows.
func (s *Server) ServerMetadata(context.Context, *pb.ServerMetadataRequest) (*pb.ServerMetadataResponse, error) {
	return &pb.ServerMetadataResponse{Name: "triton", Version: "2.51.0", Extensions: []string{
		"sequence", "model_repository", "model_configuration",
		"system_shared_memory", "cuda_shared_memory", "binary_tensor_data", "parameters", "statistics", "trace",
	}}, nil
}

// ModelMetadata describes the tensors of a model.
func (s *Server) ModelMetadata(_ context.Context, in *pb.ModelMetadataRequest) (*pb.ModelMetadataResponse, error) {
	m, err := s.Models.Get(in.GetName(), in.GetVersion())
	if err != nil {
		return nil, err
	}
	tensors := func(list []model.Tensor) []*pb.ModelMetadataResponse_TensorMetadata {
		out := make([]*pb.ModelMetadataResponse_TensorMetadata, 0, len(list))
		for _, t := range list {
			out = append(out, &pb.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
		}
		return out
	}
	ins, outs := m.Describe()
	return &pb.ModelMetadataResponse{
		Name: m.Name(), Versions: s.Models.Versions(m.Name()), Platform: m.Platform(),
		Inputs: tensors(ins), Outputs: tensors(outs),
	}, nil
}

// ModelConfig gives the whole configuration of a model.
func (s *Server) ModelConfig(_ context.Context, in *pb.ModelConfigRequest) (*pb.ModelConfigResponse, error) {
	m, err := s.Models.Get(in.GetName(), in.GetVersion())
	if err != nil {
		return nil, err
	}
	return &pb.ModelConfigResponse{Config: m.Config}, nil
}

// ModelStatistics gives the counters of one model; without a name, those of all.
func (s *Server) ModelStatistics(_ context.Context, in *pb.ModelStatisticsRequest) (*pb.ModelStatisticsResponse, error) {
	models := s.Models.Models()
	if in.GetName() != "" {
		m, err := s.Models.Get(in.GetName(), in.GetVersion())
		if err != nil {
			return nil, bad("requested model '%s' is not available", in.GetName())
		}
		models = []*model.Model{m}
	}
	out := &pb.ModelStatisticsResponse{}
	for _, m := range models {
		now, _, _ := m.Counters.Snapshot()
		out.ModelStats = append(out.ModelStats, now)
	}
	return out, nil
}

// RepositoryIndex lists the models, loaded or not.
func (s *Server) RepositoryIndex(_ context.Context, in *pb.RepositoryIndexRequest) (*pb.RepositoryIndexResponse, error) {
	out := &pb.RepositoryIndexResponse{}
	for _, e := range s.Models.Index(in.GetReady()) {
		out.Models = append(out.Models, &pb.RepositoryIndexResponse_ModelIndex{Name: e.Name, Version: e.Version, State: e.State, Reason: e.Reason})
	}
	return out, nil
}

// RepositoryModelLoad loads a model.
func (s *Server) RepositoryModelLoad(_ context.Context, in *pb.RepositoryModelLoadRequest) (*pb.RepositoryModelLoadResponse, error) {
	if in.GetRepositoryName() != "" {
		return nil, infer.Errorf(infer.Unsupported, "there is only one repository: leave out 'repository_name'")
	}
	return &pb.RepositoryModelLoadResponse{}, s.Models.Load(in.GetModelName(), in.GetParameters()["config"].GetStringParam())
}

// RepositoryModelUnload drops a model.
func (s *Server) RepositoryModelUnload(_ context.Context, in *pb.RepositoryModelUnloadRequest) (*pb.RepositoryModelUnloadResponse, error) {
	return &pb.RepositoryModelUnloadResponse{}, s.Models.Unload(in.GetModelName())
}

// TraceSetting changes and shows trace settings. Models have none of their own.
func (s *Server) TraceSetting(_ context.Context, in *pb.TraceSettingRequest) (*pb.TraceSettingResponse, error) {
	changes := settings{}
	for name, v := range in.GetSettings() {
		changes[name] = v.GetValue()
	}
	if in.GetModelName() != "" && len(changes) > 0 {
		return nil, infer.Errorf(infer.Unsupported, "trace settings are those of the server: leave out the model '%s'", in.GetModelName())
	}
	now, err := s.Trace.update(changes)
	out := &pb.TraceSettingResponse{Settings: map[string]*pb.TraceSettingResponse_SettingValue{}}
	for name, values := range now {
		out.Settings[name] = &pb.TraceSettingResponse_SettingValue{Value: values}
	}
	return out, err
}

// SystemSharedMemoryStatus lists the regions.
func (s *Server) SystemSharedMemoryStatus(_ context.Context, in *pb.SystemSharedMemoryStatusRequest) (*pb.SystemSharedMemoryStatusResponse, error) {
	list, err := s.shared.Status(shm.System, in.GetName())
	if err != nil {
		return nil, err
	}
	out := &pb.SystemSharedMemoryStatusResponse{Regions: map[string]*pb.SystemSharedMemoryStatusResponse_RegionStatus{}}
	for _, r := range list {
		out.Regions[r.Name] = &pb.SystemSharedMemoryStatusResponse_RegionStatus{Name: r.Name, Key: r.Key, Offset: r.Offset, ByteSize: r.Size}
	}
	return out, nil
}

// SystemSharedMemoryRegister maps a region.
func (s *Server) SystemSharedMemoryRegister(_ context.Context, in *pb.SystemSharedMemoryRegisterRequest) (*pb.SystemSharedMemoryRegisterResponse, error) {
	return &pb.SystemSharedMemoryRegisterResponse{}, s.shared.Register(in.GetName(), in.GetKey(), in.GetOffset(), in.GetByteSize())
}

// SystemSharedMemoryUnregister drops one region or all.
func (s *Server) SystemSharedMemoryUnregister(_ context.Context, in *pb.SystemSharedMemoryUnregisterRequest) (*pb.SystemSharedMemoryUnregisterResponse, error) {
	s.shared.Unregister(shm.System, in.GetName())
	return &pb.SystemSharedMemoryUnregisterResponse{}, nil
}

// CudaSharedMemoryStatus lists the regions on GPUs.
func (s *Server) CudaSharedMemoryStatus(_ context.Context, in *pb.CudaSharedMemoryStatusRequest) (*pb.CudaSharedMemoryStatusResponse, error) {
	list, err := s.shared.Status(shm.CUDA, in.GetName())
	if err != nil {
		return nil, err
	}
	out := &pb.CudaSharedMemoryStatusResponse{Regions: map[string]*pb.CudaSharedMemoryStatusResponse_RegionStatus{}}
	for _, r := range list {
		out.Regions[r.Name] = &pb.CudaSharedMemoryStatusResponse_RegionStatus{Name: r.Name, DeviceId: uint64(r.Device), ByteSize: r.Size}
	}
	return out, nil
}

// CudaSharedMemoryRegister opens a region on a GPU.
func (s *Server) CudaSharedMemoryRegister(_ context.Context, in *pb.CudaSharedMemoryRegisterRequest) (*pb.CudaSharedMemoryRegisterResponse, error) {
	return &pb.CudaSharedMemoryRegisterResponse{}, s.shared.RegisterCUDA(in.GetName(), in.GetRawHandle(), in.GetDeviceId(), in.GetByteSize())
}

// CudaSharedMemoryUnregister drops one region on a GPU or all.
func (s *Server) CudaSharedMemoryUnregister(_ context.Context, in *pb.CudaSharedMemoryUnregisterRequest) (*pb.CudaSharedMemoryUnregisterResponse, error) {
	s.shared.Unregister(shm.CUDA, in.GetName())
	return &pb.CudaSharedMemoryUnregisterResponse{}, nil
}
