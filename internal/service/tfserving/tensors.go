package tfserving

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/tensor"
)

// datatypes are the types that both sides know.
var datatypes = map[pb.DataType]tensor.Datatype{
	pb.DataType_DT_BOOL:     tensor.Bool,
	pb.DataType_DT_UINT8:    tensor.Uint8,
	pb.DataType_DT_UINT16:   tensor.Uint16,
	pb.DataType_DT_UINT32:   tensor.Uint32,
	pb.DataType_DT_UINT64:   tensor.Uint64,
	pb.DataType_DT_INT8:     tensor.Int8,
	pb.DataType_DT_INT16:    tensor.Int16,
	pb.DataType_DT_INT32:    tensor.Int32,
	pb.DataType_DT_INT64:    tensor.Int64,
	pb.DataType_DT_HALF:     tensor.FP16,
	pb.DataType_DT_BFLOAT16: tensor.BF16,
	pb.DataType_DT_FLOAT:    tensor.FP32,
	pb.DataType_DT_DOUBLE:   tensor.FP64,
	pb.DataType_DT_STRING:   tensor.Bytes,
}

func dtype(t tensor.Datatype) pb.DataType {
	for d, of := range datatypes {
		if of == t {
			return d
		}
	}
	return pb.DataType_DT_INVALID
}

// encode puts a tensor into the list of its type.
func encode(t *tensor.Tensor) (*pb.TensorProto, error) {
	p := &pb.TensorProto{Dtype: dtype(t.Type), TensorShape: &pb.TensorShapeProto{}}
	for _, d := range t.Shape {
		p.TensorShape.Dim = append(p.TensorShape.Dim, &pb.TensorShapeProto_Dim{Size: d})
	}
	le, b := binary.LittleEndian, t.Data
	switch t.Type {
	case tensor.Bool:
		p.BoolVal = list(b, 1, func(e []byte) bool { return e[0] != 0 })
	case tensor.Uint8:
		p.IntVal = list(b, 1, func(e []byte) int32 { return int32(e[0]) })
	case tensor.Int8:
		p.IntVal = list(b, 1, func(e []byte) int32 { return int32(int8(e[0])) })
	case tensor.Uint16:
		p.IntVal = list(b, 2, func(e []byte) int32 { return int32(le.Uint16(e)) })
	case tensor.Int16:
		p.IntVal = list(b, 2, func(e []byte) int32 { return int32(int16(le.Uint16(e))) })
	case tensor.Int32:
		p.IntVal = list(b, 4, func(e []byte) int32 { return int32(le.Uint32(e)) })
	case tensor.Int64:
		p.Int64Val = list(b, 8, func(e []byte) int64 { return int64(le.Uint64(e)) })
	case tensor.Uint32:
		p.Uint32Val = list(b, 4, le.Uint32)
	case tensor.Uint64:
		p.Uint64Val = list(b, 8, le.Uint64)
	case tensor.FP16, tensor.BF16:
		p.HalfVal = list(b, 2, func(e []byte) int32 { return int32(le.Uint16(e)) })
	case tensor.FP32:
		p.FloatVal = list(b, 4, func(e []byte) float32 { return math.Float32frombits(le.Uint32(e)) })
	case tensor.FP64:
		p.DoubleVal = list(b, 8, func(e []byte) float64 { return math.Float64frombits(le.Uint64(e)) })
	case tensor.Bytes:
		for len(b) > 0 {
			var e []byte
			var err error
			if e, b, err = tensor.NextElement(b); err != nil {
				return nil, err
			}
			p.StringVal = append(p.StringVal, e)
		}
	case tensor.Invalid, tensor.JSON:
		return nil, fmt.Errorf("datatype %s cannot be sent", t.Type)
	}
	return p, nil
}

// list reads elements of a size.
func list[T any](b []byte, size int, read func([]byte) T) []T {
	out := make([]T, 0, len(b)/size)
	for ; len(b) >= size; b = b[size:] {
		out = append(out, read(b[:size]))
	}
	return out
}

// outputs decodes a PredictResponse into tensors, by name.
func outputs(payload []byte) ([]tensor.Tensor, error) {
	var r pb.PredictResponse
	if err := proto.Unmarshal(payload, &r); err != nil {
		return nil, fmt.Errorf("decode the answer: %w", err)
	}
	var out []tensor.Tensor
	for _, name := range slices.Sorted(maps.Keys(r.GetOutputs())) {
		p := r.GetOutputs()[name]
		dt, ok := datatypes[p.GetDtype()]
		if !ok {
			return nil, fmt.Errorf("output %s has the datatype %s, which is not known here", name, p.GetDtype())
		}
		t := tensor.Tensor{Name: name, Type: dt, Shape: tensor.Shape{}}
		for _, d := range p.GetTensorShape().GetDim() {
			t.Shape = append(t.Shape, d.GetSize())
		}
		var err error
		if t.Data, err = decode(dt, t.Shape, p); err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// maxFill bounds the bytes that a single element may be spread over: a few bytes of a broken answer must not take
// all memory.
const maxFill = 64 << 20

// decode gives the raw elements of a tensor. A single listed element stands for all that the shape has.
func decode(dt tensor.Datatype, shape tensor.Shape, p *pb.TensorProto) ([]byte, error) {
	want := tensor.ByteSize(dt, shape)
	if content := p.GetTensorContent(); len(content) > 0 {
		if want >= 0 && want != int64(len(content)) {
			return nil, fmt.Errorf("%d bytes of content for shape %s of %s", len(content), shape, dt)
		}
		return content, nil
	}
	b := listed(dt, p)
	size := dt.Size()
	switch {
	case size == 0 || want == int64(len(b)):
		return b, nil
	case len(b) == size && want > 0 && want <= maxFill:
		full := make([]byte, 0, want)
		for range want / int64(size) {
			full = append(full, b...)
		}
		return full, nil
	}
	return nil, fmt.Errorf("%d elements for shape %s", len(b)/size, shape)
}

// listed turns a typed list into raw bytes.
func listed(dt tensor.Datatype, p *pb.TensorProto) []byte {
	switch dt {
	case tensor.Bool:
		return tensor.Pack(dt, p.GetBoolVal())
	case tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Int32:
		return tensor.Pack(dt, p.GetIntVal())
	case tensor.Int64:
		return tensor.Pack(dt, p.GetInt64Val())
	case tensor.Uint32:
		return tensor.Pack(dt, p.GetUint32Val())
	case tensor.Uint64:
		return tensor.Pack(dt, p.GetUint64Val())
	case tensor.FP16, tensor.BF16:
		return tensor.Pack(dt, p.GetHalfVal())
	case tensor.FP32:
		return tensor.Pack(dt, p.GetFloatVal())
	case tensor.FP64:
		return tensor.Pack(dt, p.GetDoubleVal())
	case tensor.Bytes:
		return tensor.PackBytes(p.GetStringVal())
	case tensor.Invalid, tensor.JSON: // no such tensors come
	}
	return nil
}
