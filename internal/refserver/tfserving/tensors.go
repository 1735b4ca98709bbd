package tfserving

import (
	"encoding/binary"
	"fmt"

	pb "github.com/redline-bench/redline/internal/proto/tfserving"
	"github.com/redline-bench/redline/internal/tensor"
)

// types pairs the two protocols' datatypes.
var types = map[tensor.Datatype]pb.DataType{
	tensor.Bool: pb.DataType_DT_BOOL, tensor.Uint8: pb.DataType_DT_UINT8, tensor.Uint16: pb.DataType_DT_UINT16,
	tensor.Uint32: pb.DataType_DT_UINT32, tensor.Uint64: pb.DataType_DT_UINT64, tensor.Int8: pb.DataType_DT_INT8,
	tensor.Int16: pb.DataType_DT_INT16, tensor.Int32: pb.DataType_DT_INT32, tensor.Int64: pb.DataType_DT_INT64,
	tensor.FP16: pb.DataType_DT_HALF, tensor.FP32: pb.DataType_DT_FLOAT, tensor.FP64: pb.DataType_DT_DOUBLE,
	tensor.Bytes: pb.DataType_DT_STRING, tensor.BF16: pb.DataType_DT_BFLOAT16,
}

func kindOf(t tensor.Datatype) pb.DataType { return types[t] }

func typeOf(k pb.DataType) (tensor.Datatype, bool) {
	for t, kind := range types {
		if kind == k {
			return t, true
		}
	}
	return tensor.Invalid, false
}

func shapeOf(s tensor.Shape) *pb.TensorShapeProto {
	out := &pb.TensorShapeProto{}
	for _, d := range s {
		out.Dim = append(out.Dim, &pb.TensorShapeProto_Dim{Size: d})
	}
	return out
}

// fromProto turns a tensor into raw form. A single typed value stands for all elements, as in TensorFlow.
func fromProto(name string, p *pb.TensorProto) (tensor.Tensor, error) {
	kind, ok := typeOf(p.GetDtype())
	if !ok {
		return tensor.Tensor{}, fmt.Errorf("input %s has type %v, which is not supported", name, p.GetDtype())
	}
	t := tensor.Tensor{Name: name, Type: kind, Data: p.GetTensorContent()}
	for _, d := range p.GetTensorShape().GetDim() {
		t.Shape = append(t.Shape, d.GetSize())
	}
	if len(t.Data) > 0 {
		return t, nil
	}
	var one int
	t.Data, one = typed(kind, p)
	if count := t.Shape.Elements(); one > 0 && one == len(t.Data) && count > 1 && count <= 1<<26 {
		for int64(len(t.Data)) < count*int64(one) {
			t.Data = append(t.Data, t.Data[:one]...)
		}
	}
	return t, nil
}

// typed collects typed values in raw form, and tells how long one is when there is only one.
func typed(kind tensor.Datatype, p *pb.TensorProto) (data []byte, one int) {
	if kind == tensor.Bytes {
		data = tensor.PackBytes(p.GetStringVal())
		if len(p.GetStringVal()) == 1 {
			one = len(data)
		}
		return data, one
	}
	switch kind {
	case tensor.Bool:
		data = tensor.Pack(kind, p.GetBoolVal())
	case tensor.FP32:
		data = tensor.Pack(kind, p.GetFloatVal())
	case tensor.FP64:
		data = tensor.Pack(kind, p.GetDoubleVal())
	case tensor.FP16, tensor.BF16:
		data = tensor.Pack(kind, p.GetHalfVal())
	case tensor.Int64:
		data = tensor.Pack(kind, p.GetInt64Val())
	case tensor.Uint32:
		data = tensor.Pack(kind, p.GetUint32Val())
	case tensor.Uint64:
		data = tensor.Pack(kind, p.GetUint64Val())
	default:
		data = tensor.Pack(kind, p.GetIntVal())
	}
	return data, kind.Size()
}

// toProto gives raw data as it is, and strings as strings.
func toProto(t tensor.Tensor) *pb.TensorProto {
	p := &pb.TensorProto{Dtype: kindOf(t.Type), TensorShape: shapeOf(t.Shape)}
	if t.Type != tensor.Bytes {
		p.TensorContent = t.Data
		return p
	}
	for rest := t.Data; len(rest) >= 4; {
		n := min(int(binary.LittleEndian.Uint32(rest)), len(rest)-4)
		p.StringVal = append(p.StringVal, rest[4:4+n])
		rest = rest[4+n:]
	}
	return p
}
