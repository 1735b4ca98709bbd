package kserve

import (
	"context"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

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
