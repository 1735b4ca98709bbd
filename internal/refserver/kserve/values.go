package kserve

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// raw turns the elements of a JSON array, nested in any way, into the raw form of a tensor.
func raw(t tensor.Tensor, text json.RawMessage) ([]byte, error) {
	if t.Type == tensor.FP16 || t.Type == tensor.BF16 {
		return nil, bad("input '%s' is %s, which JSON cannot have: send binary data", t.Name, t.Type)
	}
	if text[0] != '[' {
		return nil, wrongKind("data", "an array")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out []byte
	count := int64(0)
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if _, nested := token.(json.Delim); nested && err == nil {
			continue
		}
		if err == nil {
			count++
			out, err = appendElement(out, t.Type, token)
		}
		if err != nil {
			return nil, infer.Errorf(infer.Malformed, "the data of input '%s' must be %s: %v is not", t.Name, t.Type, token)
		}
	}
	if want := t.Shape.Elements(); count != want {
		return nil, infer.Errorf(infer.Malformed, "the data of input '%s' has %d elements, its shape %s has %d", t.Name, count, t.Shape, want)
	}
	return out, nil
}

var errKind = errors.New("wrong kind")

// appendElement adds the raw form of a JSON string, number or truth value.
func appendElement(out []byte, kind tensor.Datatype, token any) ([]byte, error) {
	text, isText := token.(string)
	truth, isTruth := token.(bool)
	number, isNumber := token.(json.Number)
	le, bits := binary.LittleEndian, 8*kind.Size()
	switch {
	case kind == tensor.Bytes && isText:
		return tensor.AppendElement(out, text), nil
	case kind == tensor.Bool && isTruth:
		return binary.Append(out, le, truth)
	case !isNumber:
		return out, errKind
	}
	switch kind {
	case tensor.FP32:
		f, err := strconv.ParseFloat(string(number), bits)
		out, _ = binary.Append(out, le, float32(f)) // into memory
		return out, err
	case tensor.FP64:
		f, err := strconv.ParseFloat(string(number), bits)
		out, _ = binary.Append(out, le, f) // into memory
		return out, err
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		n, err := strconv.ParseUint(string(number), 10, bits)
		return append(out, le.AppendUint64(nil, n)[:kind.Size()]...), err
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		n, err := strconv.ParseInt(string(number), 10, bits)
		return append(out, le.AppendUint64(nil, uint64(n))[:kind.Size()]...), err
	default:
		return out, errKind
	}
}

// elements is the JSON form of raw data.
func elements(name string, kind tensor.Datatype, raw []byte) (any, error) {
	switch kind {
	case tensor.Bytes:
		texts := []string{}
		for len(raw) > 0 {
			elem, rest, err := tensor.NextElement(raw)
			if err != nil {
				return nil, err
			}
			texts, raw = append(texts, string(elem)), rest
		}
		return texts, nil
	case tensor.Uint8:
		wide := make([]uint16, len(raw)) // bytes would be written as base64
		for i, b := range raw {
			wide[i] = uint16(b)
		}
		return wide, nil
	case tensor.Bool:
		return list[bool](raw), nil
	case tensor.Int8:
		return list[int8](raw), nil
	case tensor.Int16:
		return list[int16](raw), nil
	case tensor.Uint16:
		return list[uint16](raw), nil
	case tensor.Int32:
		return list[int32](raw), nil
	case tensor.Uint32:
		return list[uint32](raw), nil
	case tensor.Int64:
		return list[int64](raw), nil
	case tensor.Uint64:
		return list[uint64](raw), nil
	case tensor.FP32:
		return list[float32](raw), nil
	case tensor.FP64:
		return list[float64](raw), nil
	default:
		return nil, bad("output '%s' is %s, which JSON cannot have: request binary data", name, kind)
	}
}

func list[T any](raw []byte) []T {
	out := make([]T, len(raw)/binary.Size(*new(T)))
	_, _ = binary.Decode(raw, binary.LittleEndian, out) // as long as it must be
	return out
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
