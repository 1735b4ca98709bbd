package khttp

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/redline-bench/redline/internal/refserver/rjson"
)

// appendMessage writes a message as Triton writes a model configuration, metadata and statistics: fields in the order of their declaration,
// names as declared, scalars and lists also when empty, messages and choices only when set, 64-bit integers as numbers.
func appendMessage(b []byte, m protoreflect.Message) []byte {
	b = append(b, '{')
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		choice := f.ContainingOneof() != nil || f.Message() != nil && f.Cardinality() != protoreflect.Repeated
		if choice && !m.Has(f) {
			continue
		}
		b = appendField(rjson.AppendName(b, string(f.Name())), f, m.Get(f))
	}
	return append(b, '}')
}

func appendField(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch {
	case f.IsMap():
		return appendMap(b, f, v.Map())
	case f.IsList():
		b = append(b, '[')
		for i := range v.List().Len() {
			b = appendScalar(rjson.AppendComma(b), f, v.List().Get(i))
		}
		return append(b, ']')
	}
	return appendScalar(b, f, v)
}

func appendMap(b []byte, f protoreflect.FieldDescriptor, m protoreflect.Map) []byte {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	b = append(b, '{')
	for _, k := range keys {
		b = appendScalar(rjson.AppendName(b, k.String()), f.MapValue(), m.Get(k))
	}
	return append(b, '}')
}

func appendScalar(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendMessage(b, v.Message())
	case protoreflect.EnumKind:
		return rjson.AppendString(b, string(f.Enum().Values().ByNumber(v.Enum()).Name()))
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool())
	case protoreflect.StringKind:
		return rjson.AppendString(b, v.String())
	case protoreflect.BytesKind:
		return rjson.AppendString(b, v.Bytes())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(b, v.Uint(), 10)
	default:
		return strconv.AppendInt(b, v.Int(), 10)
	}
}
