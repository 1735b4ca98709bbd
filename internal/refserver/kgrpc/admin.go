package kgrpc

import (
	"context"
	"strings"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// RepositoryIndex lists the models, loaded or not.
func (s *Service) RepositoryIndex(_ context.Context, r *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	out := &kserve.RepositoryIndexResponse{}
	for _, e := range s.core.Models.Index(r.GetReady()) {
		out.Models = append(out.Models, &kserve.RepositoryIndexResponse_ModelIndex{Name: e.Name, Version: e.Version, State: e.State, Reason: e.Reason})
	}
	return out, nil
}

// RepositoryModelLoad loads a model.
func (s *Service) RepositoryModelLoad(_ context.Context, r *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, failure(infer.Errorf(infer.Unsupported, "'repository_name' specification is not supported"))
	}
	config := ""
	var files []string
	for name, p := range r.GetParameters() {
		if file, ok := strings.CutPrefix(name, "file:"); ok {
			files = append(files, file)
		}
		v, ok := p.GetParameterChoice().(*kserve.ModelRepositoryParameter_StringParam)
		if name == "config" {
			if !ok {
				return nil, failure(bad("invalid value type for 'config' parameter, expected string_param."))
			}
			config = v.StringParam
		}
	}
	return &kserve.RepositoryModelLoadResponse{}, failure(s.core.Models.Load(r.GetModelName(), config, files))
}

// RepositoryModelUnload drops a model.
func (s *Service) RepositoryModelUnload(_ context.Context, r *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	if r.GetRepositoryName() != "" {
		return nil, failure(infer.Errorf(infer.Unsupported, "'repository_name' specification is not supported"))
	}
	dependents := r.GetParameters()["unload_dependents"].GetBoolParam()
	return &kserve.RepositoryModelUnloadResponse{}, failure(s.core.Models.Unload(r.GetModelName(), dependents))
}

// SystemSharedMemoryStatus lists the regions.
func (s *Service) SystemSharedMemoryStatus(_ context.Context, r *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	list, err := s.core.Shared.Status(shm.System, r.GetName())
	if err != nil {
		return nil, failure(err)
	}
	out := &kserve.SystemSharedMemoryStatusResponse{Regions: map[string]*kserve.SystemSharedMemoryStatusResponse_RegionStatus{}}
	for _, reg := range list {
		out.Regions[reg.Name] = &kserve.SystemSharedMemoryStatusResponse_RegionStatus{Name: reg.Name, Key: reg.Key, Offset: reg.Offset, ByteSize: reg.Size}
	}
	return out, nil
}

// SystemSharedMemoryRegister maps a region.
func (s *Service) SystemSharedMemoryRegister(_ context.Context, r *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	return &kserve.SystemSharedMemoryRegisterResponse{}, failure(s.core.Shared.Register(r.GetName(), r.GetKey(), r.GetOffset(), r.GetByteSize()))
}

// SystemSharedMemoryUnregister drops one region or all.
func (s *Service) SystemSharedMemoryUnregister(_ context.Context, r *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	s.core.Shared.Unregister(shm.System, r.GetName())
	return &kserve.SystemSharedMemoryUnregisterResponse{}, nil
}

// CudaSharedMemoryStatus lists the regions on GPUs.
func (s *Service) CudaSharedMemoryStatus(_ context.Context, r *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	list, err := s.core.Shared.Status(shm.CUDA, r.GetName())
	if err != nil {
		return nil, failure(err)
	}
	out := &kserve.CudaSharedMemoryStatusResponse{Regions: map[string]*kserve.CudaSharedMemoryStatusResponse_RegionStatus{}}
	for _, reg := range list {
		out.Regions[reg.Name] = &kserve.CudaSharedMemoryStatusResponse_RegionStatus{Name: reg.Name, DeviceId: uint64(reg.Device), ByteSize: reg.Size}
	}
	return out, nil
}

// CudaSharedMemoryRegister opens a region on a GPU.
func (s *Service) CudaSharedMemoryRegister(_ context.Context, r *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	return &kserve.CudaSharedMemoryRegisterResponse{}, failure(s.core.Shared.RegisterCUDA(r.GetName(), r.GetRawHandle(), r.GetDeviceId(), r.GetByteSize()))
}

// CudaSharedMemoryUnregister drops one region on a GPU or all.
func (s *Service) CudaSharedMemoryUnregister(_ context.Context, r *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	s.core.Shared.Unregister(shm.CUDA, r.GetName())
	return &kserve.CudaSharedMemoryUnregisterResponse{}, nil
}

// TraceSetting changes and shows trace settings.
func (s *Service) TraceSetting(_ context.Context, r *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	if r.GetModelName() != "" {
		if _, err := s.core.Models.Get(r.GetModelName(), ""); err != nil {
			return nil, failure(bad("Request for unknown model : %s", r.GetModelName()))
		}
	}
	var changes []core.Setting
	for name, v := range r.GetSettings() {
		changes = append(changes, core.Setting{Name: name, Values: v.GetValue()})
	}
	if err := s.core.Trace.Update(r.GetModelName(), changes); err != nil {
		return nil, failure(err)
	}
	out := &kserve.TraceSettingResponse{Settings: map[string]*kserve.TraceSettingResponse_SettingValue{}}
	for _, set := range s.core.Trace.Get(r.GetModelName()) {
		out.Settings[set.Name] = &kserve.TraceSettingResponse_SettingValue{Value: set.Values}
	}
	return out, nil
}

// LogSettings changes and shows log settings.
func (s *Service) LogSettings(_ context.Context, r *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	var changes []core.LogSetting
	for name, v := range r.GetSettings() {
		c := core.LogSetting{Name: name}
		switch v := v.GetParameterChoice().(type) {
		case *kserve.LogSettingsRequest_SettingValue_BoolParam:
			c.Value = v.BoolParam
		case *kserve.LogSettingsRequest_SettingValue_Uint32Param:
			c.Value = uint64(v.Uint32Param)
		case *kserve.LogSettingsRequest_SettingValue_StringParam:
			c.Value = v.StringParam
		}
		changes = append(changes, c)
	}
	if err := s.core.Logs.Update(changes, core.LogErrors{Kind: wrongLog, Format: func(got string) error {
		return bad("invalid argument for log_format, got: %s", got)
	}}); err != nil {
		return nil, failure(err)
	}
	out := &kserve.LogSettingsResponse{Settings: map[string]*kserve.LogSettingsResponse_SettingValue{}}
	for _, set := range s.core.Logs.Get() {
		v := &kserve.LogSettingsResponse_SettingValue{}
		switch value := set.Value.(type) {
		case bool:
			v.ParameterChoice = &kserve.LogSettingsResponse_SettingValue_BoolParam{BoolParam: value}
		case uint64:
			v.ParameterChoice = &kserve.LogSettingsResponse_SettingValue_Uint32Param{Uint32Param: uint32(value)}
		case string:
			v.ParameterChoice = &kserve.LogSettingsResponse_SettingValue_StringParam{StringParam: value}
		}
		out.Settings[set.Name] = v
	}
	return out, nil
}

// wrongLog is the error for a log setting of the wrong kind.
func wrongLog(name string, is any) error {
	kind := "string"
	switch is.(type) {
	case bool:
		kind = "boolean"
	case uint64:
		kind = "int32"
	}
	return bad("expect %s for '%s'", kind, name)
}
