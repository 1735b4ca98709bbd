package rpc

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/shm"
	"github.com/redline-bench/redline/internal/tensor"
)

// Stage registers the shared memory that prepared requests refer to.
func (s *Service) Stage(ctx context.Context) error { return s.shared.Stage(ctx) }

// Register implements share.Server.
func (s *Service) Register(ctx context.Context, r *shm.Region) error {
	if r.Kind() == shm.CUDA {
		return s.call(ctx, kserve.OpShare, "CudaSharedMemoryRegister", &pb.CudaSharedMemoryRegisterRequest{
			Name: r.Name(), RawHandle: r.Handle(), DeviceId: int64(r.Device()), ByteSize: uint64(r.Size()),
		}, &pb.CudaSharedMemoryRegisterResponse{})
	}
	return s.call(ctx, kserve.OpShare, "SystemSharedMemoryRegister", &pb.SystemSharedMemoryRegisterRequest{
		Name: r.Name(), Key: r.Key(), ByteSize: uint64(r.Size()),
	}, &pb.SystemSharedMemoryRegisterResponse{})
}

// UnregisterAll implements share.Server.
func (s *Service) UnregisterAll(ctx context.Context, kind shm.Kind) error {
	if kind == shm.CUDA {
		return s.call(ctx, kserve.OpShare, "CudaSharedMemoryUnregister",
			&pb.CudaSharedMemoryUnregisterRequest{}, &pb.CudaSharedMemoryUnregisterResponse{})
	}
	return s.call(ctx, kserve.OpShare, "SystemSharedMemoryUnregister",
		&pb.SystemSharedMemoryUnregisterRequest{}, &pb.SystemSharedMemoryUnregisterResponse{})
}

// bind is the share.Binder of this protocol.
func (s *Service) bind(req service.Request, to *share.Slot) (service.Request, []tensor.Tensor) {
	r, _ := to.Bound.(*request)
	if r == nil {
		r = &request{outputs: appendShared(nil, to.Refs)}
	}
	outputs := r.outputs
	*r = *req.(*request)
	r.outputs, r.slot = outputs, to
	return r, r.expect
}

// share reserves the memory of a request, adds its inputs without their data, and returns its outputs.
func (s *Service) share(b []byte, in service.Inputs) (body, outputs []byte, err error) {
	s.mu.Lock()
	m := s.model
	s.mu.Unlock()
	refs, err := s.shared.Outputs(m, in.Outputs)
	if err != nil {
		return nil, nil, err
	}
	for i, ref := range s.shared.Inputs(in) {
		b = appendMessage(b, reqInputs, appendRegion(input(in.Tensors[i]), inputParams, ref))
	}
	return b, appendShared(nil, refs), nil
}

// appendShared adds the outputs that are asked for in shared memory.
func appendShared(b []byte, refs []share.Ref) []byte {
	for _, ref := range refs {
		m := appendString(nil, tensorName, ref.Tensor)
		b = appendMessage(b, reqOutputs, appendRegion(m, outputParams, ref))
	}
	return b
}

// appendRegion adds the parameters that say where a tensor in shared memory is.
func appendRegion(b []byte, num protowire.Number, ref share.Ref) []byte {
	region := appendMessage(appendString(nil, mapKey, "shared_memory_region"), mapValue, appendString(nil, paramString, ref.Region))
	n := protowire.AppendVarint(protowire.AppendTag(nil, paramInt, protowire.VarintType), uint64(ref.Size))
	size := appendMessage(appendString(nil, mapKey, "shared_memory_byte_size"), mapValue, n)
	return appendMessage(appendMessage(b, num, region), num, size)
}

// fromRegion is what the server has written to shared memory for an output. ok is false where the answer does not
// have the output, or its shape does not fit into the memory.
func (r *request) fromRegion(payload []byte, want *tensor.Tensor) (data []byte, ok bool) {
	for b := payload; len(b) > 0; {
		num, _, _, val, rest, fine := field(b)
		if !fine {
			return nil, false
		}
		b = rest
		if num != respOutputs {
			continue
		}
		if found, _ := inspect(val, want.Name); found {
			n, fine := elements(val)
			if !fine {
				return nil, false
			}
			data, err := r.slot.Output(want.Name, want.Type, n)
			return data, err == nil
		}
	}
	return nil, false
}

// elements multiplies the dimensions of an InferOutputTensor.
func elements(b []byte) (n uint64, ok bool) {
	const limit = 1 << 40 // no answer is larger, and no product overflows
	n = 1
	for len(b) > 0 {
		num, typ, one, val, rest, fine := field(b)
		if !fine {
			return 0, false
		}
		b = rest
		if num != tensorShape {
			continue
		}
		if typ != bytesType { // a list that is not packed
			val = protowire.AppendVarint(nil, one)
		}
		for len(val) > 0 {
			var d uint64
			if d, val, fine = varint(val); !fine || d > limit || n*d > limit {
				return 0, false
			}
			n *= d
		}
	}
	return n, true
}
