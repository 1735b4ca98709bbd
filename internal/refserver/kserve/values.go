package kserve

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// raw turns the elements of a JSON array, nested in any way, into the raw form of a tensor.
func raw(t tensor.Tensor, text json.RawMessage) ([]byte, error) {
	if t.Type == tensor.FP16 || t.Type == tensor.BF16 {
		return nil, bad("input '%s' is %s, which JSON cannot have: send binary data", t.Name, t.Type)
	}
	out, err := tensor.AppendNested(nil, t.Type, text)
	if want := tensor.ByteSize(t.Type, t.Shape); err == nil && want >= 0 && want != int64(len(out)) {
		err = fmt.Errorf("%d elements do not have the shape %s", len(out)/t.Type.Size(), t.Shape)
	}
	if err != nil {
		return nil, infer.Errorf(infer.Malformed, "the data of input '%s': %v", t.Name, err)
	}
	return out, nil
}

// elements is the JSON form of raw data.
func elements(name string, kind tensor.Datatype, raw []byte) (json.RawMessage, error) {
	if kind == tensor.FP16 || kind == tensor.BF16 {
		return nil, bad("output '%s' is %s, which JSON cannot have: request binary data", name, kind)
	}
	return tensor.AppendJSON(nil, kind, raw)
}

// plain is a message as Triton writes a model configuration, metadata and statistics: names as declared, scalars and lists also when
// empty, messages and choices only when set, 64-bit integers as numbers.
func plain(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		choice := f.ContainingOneof() != nil || f.Message() != nil && f.Cardinality() != protoreflect.Repeated
		if choice && !m.Has(f) {
			continue
		}
		switch v := m.Get(f); {
		case f.IsMap():
			members := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				members[k.String()] = scalar(f.MapValue(), e)
				return true
			})
			out[string(f.Name())] = members
		case f.IsList():
			items := make([]any, v.List().Len())
			for k := range items {
				items[k] = scalar(f, v.List().Get(k))
			}
			out[string(f.Name())] = items
		default:
			out[string(f.Name())] = scalar(f, v)
		}
	}
	return out
}

func scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.Message() != nil:
		return plain(v.Message())
	case f.Enum() != nil:
		return string(f.Enum().Values().ByNumber(v.Enum()).Name())
	case f.Kind() == protoreflect.BytesKind:
		return string(v.Bytes())
	}
	return v.Interface()
}
