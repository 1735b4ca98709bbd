package others

import (
	"bytes"
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

func shapeOf(s tensor.Shape) *pb.TensorShapeProto {
	out := &pb.TensorShapeProto{}
	for _, d := range s {
		out.Dim = append(out.Dim, &pb.TensorShapeProto_Dim{Size: d})
	}
	return out
}

// fromProto turns a tensor into raw form. A single typed value stands for all elements, as in TensorFlow.
func fromProto(name string, p *pb.TensorProto) (t tensor.Tensor, err error) {
	for kind, k := range types {
		if k == p.GetDtype() {
			t.Type = kind
		}
	}
	if t.Type == tensor.Invalid {
		return t, fmt.Errorf("input %s has type %v, which is not supported", name, p.GetDtype())
	}
	t.Name, t.Data = name, p.GetTensorContent()
	for _, d := range p.GetTensorShape().GetDim() {
		t.Shape = append(t.Shape, d.GetSize())
	}
	if len(t.Data) > 0 {
		return t, nil
	}
	size := t.Type.Size()
	switch t.Type {
	case tensor.Bytes:
		if t.Data = tensor.PackBytes(p.GetStringVal()); len(p.GetStringVal()) == 1 {
			size = len(t.Data)
		}
	case tensor.Bool:
		t.Data = tensor.Pack(t.Type, p.GetBoolVal())
	case tensor.FP32:
		t.Data = tensor.Pack(t.Type, p.GetFloatVal())
	case tensor.FP64:
		t.Data = tensor.Pack(t.Type, p.GetDoubleVal())
	case tensor.FP16, tensor.BF16:
		t.Data = tensor.Pack(t.Type, p.GetHalfVal())
	case tensor.Int64:
		t.Data = tensor.Pack(t.Type, p.GetInt64Val())
	case tensor.Uint32:
		t.Data = tensor.Pack(t.Type, p.GetUint32Val())
	case tensor.Uint64:
		t.Data = tensor.Pack(t.Type, p.GetUint64Val())
	default:
		t.Data = tensor.Pack(t.Type, p.GetIntVal())
	}
	if count := t.Shape.Elements(); size > 0 && size == len(t.Data) && count > 1 && count <= 1<<26 {
		t.Data = bytes.Repeat(t.Data, int(count))
	}
	return t, nil
}

// toProto gives raw data as it is, and strings as strings.
func toProto(t tensor.Tensor) *pb.TensorProto {
	p := &pb.TensorProto{Dtype: types[t.Type], TensorShape: shapeOf(t.Shape)}
	if t.Type != tensor.Bytes {
		p.TensorContent = t.Data
		return p
	}
	for rest := t.Data; len(rest) > 0; {
		elem, more, err := tensor.NextElement(rest)
		if err != nil {
			break // a backend of our own has made it
		}
		p.StringVal, rest = append(p.StringVal, elem), more
	}
	return p
}
