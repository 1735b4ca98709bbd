package tfserving

import (
	"encoding/binary"
	"fmt"
	"math"

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
	le := binary.LittleEndian
	low := func(v uint64) {
		var all [8]byte
		le.PutUint64(all[:], v)
		data = append(data, all[:kind.Size()]...)
	}
	for _, v := range p.GetFloatVal() {
		data = le.AppendUint32(data, math.Float32bits(v))
	}
	for _, v := range p.GetDoubleVal() {
		data = le.AppendUint64(data, math.Float64bits(v))
	}
	for _, list := range [][]int32{p.GetIntVal(), p.GetHalfVal()} {
		for _, v := range list {
			low(uint64(int64(v)))
		}
	}
	for _, v := range p.GetInt64Val() {
		low(uint64(v))
	}
	for _, v := range p.GetUint32Val() {
		low(uint64(v))
	}
	for _, v := range p.GetUint64Val() {
		low(v)
	}
	for _, v := range p.GetBoolVal() {
		b := uint64(0)
		if v {
			b = 1
		}
		low(b)
	}
	for _, v := range p.GetStringVal() {
		data = append(le.AppendUint32(data, uint32(len(v))), v...)
	}
	if kind == tensor.Bytes {
		if len(p.GetStringVal()) == 1 {
			return data, len(data)
		}
		return data, 0
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
