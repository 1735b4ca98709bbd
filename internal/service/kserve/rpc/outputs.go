package rpc

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// Outputs decodes a ModelInferResponse into tensors.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) { return decode(payload) }

func decode(payload []byte) ([]tensor.Tensor, error) {
	var r pb.ModelInferResponse
	if err := proto.Unmarshal(payload, &r); err != nil {
		return nil, fmt.Errorf("decode the answer: %w", err)
	}
	raws := r.GetRawOutputContents()
	out := make([]tensor.Tensor, 0, len(r.GetOutputs()))
	for i, o := range r.GetOutputs() {
		dt, ok := tensor.ParseDatatype(o.GetDatatype())
		if !ok {
			return nil, fmt.Errorf("output %s has the unknown datatype %q", o.GetName(), o.GetDatatype())
		}
		t := tensor.Tensor{Name: o.GetName(), Type: dt, Shape: o.GetShape()}
		if i < len(raws) {
			t.Data = raws[i]
		} else {
			t.Data = contents(dt, o.GetContents())
		}
		if n := t.Shape.Elements(); dt.Size() > 0 && len(t.Data) > 0 && int64(len(t.Data)) != n*int64(dt.Size()) {
			return nil, fmt.Errorf("output %s has %d bytes for shape %s of %s", t.Name, len(t.Data), t.Shape, dt)
		}
		out = append(out, t)
	}
	return out, nil
}

// contents turns typed data into raw bytes. The protocol has no typed form of the other types.
func contents(dt tensor.Datatype, c *pb.InferTensorContents) []byte {
	switch dt {
	case tensor.Bool:
		return tensor.Pack(dt, c.GetBoolContents())
	case tensor.Int8, tensor.Int16, tensor.Int32:
		return tensor.Pack(dt, c.GetIntContents())
	case tensor.Int64:
		return tensor.Pack(dt, c.GetInt64Contents())
	case tensor.Uint8, tensor.Uint16, tensor.Uint32:
		return tensor.Pack(dt, c.GetUintContents())
	case tensor.Uint64:
		return tensor.Pack(dt, c.GetUint64Contents())
	case tensor.FP32:
		return tensor.Pack(dt, c.GetFp32Contents())
	case tensor.FP64:
		return tensor.Pack(dt, c.GetFp64Contents())
	case tensor.Bytes:
		return tensor.PackBytes(c.GetBytesContents())
	case tensor.FP16, tensor.BF16, tensor.JSON, tensor.Invalid:
	}
	return nil
}
