package rpc

import (
	"encoding/binary"
	"fmt"
	"math"

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

// contents turns typed data into raw bytes.
func contents(dt tensor.Datatype, c *pb.InferTensorContents) []byte {
	le := binary.LittleEndian
	var b []byte
	switch dt {
	case tensor.Bool:
		for _, v := range c.GetBoolContents() {
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	case tensor.Int8:
		for _, v := range c.GetIntContents() {
			b = append(b, byte(v))
		}
	case tensor.Int16:
		for _, v := range c.GetIntContents() {
			b = le.AppendUint16(b, uint16(v))
		}
	case tensor.Int32:
		for _, v := range c.GetIntContents() {
			b = le.AppendUint32(b, uint32(v))
		}
	case tensor.Int64:
		for _, v := range c.GetInt64Contents() {
			b = le.AppendUint64(b, uint64(v))
		}
	case tensor.Uint8:
		for _, v := range c.GetUintContents() {
			b = append(b, byte(v))
		}
	case tensor.Uint16:
		for _, v := range c.GetUintContents() {
			b = le.AppendUint16(b, uint16(v))
		}
	case tensor.Uint32:
		for _, v := range c.GetUintContents() {
			b = le.AppendUint32(b, v)
		}
	case tensor.Uint64:
		for _, v := range c.GetUint64Contents() {
			b = le.AppendUint64(b, v)
		}
	case tensor.FP32:
		for _, v := range c.GetFp32Contents() {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	case tensor.FP64:
		for _, v := range c.GetFp64Contents() {
			b = le.AppendUint64(b, math.Float64bits(v))
		}
	case tensor.Bytes:
		for _, v := range c.GetBytesContents() {
			b = appendElement(b, v)
		}
	case tensor.FP16, tensor.BF16, tensor.JSON, tensor.Invalid: // the protocol has no typed form of these
	}
	return b
}
