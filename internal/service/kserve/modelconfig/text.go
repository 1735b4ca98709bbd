package modelconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Text is the configuration as a config.pbtxt. prototext does not promise the same bytes twice; here, equal configurations have
// equal texts, so that two can be compared line by line.
func (c Config) Text() string {
	var b strings.Builder
	writeFields(&b, c.pb.ProtoReflect(), "")
	return b.String()
}

// Diff is the difference of two configurations in the form of diff -u; empty if there is none.
func Diff(oldName string, old Config, newName string, changed Config) string {
	return string(diff.Diff(oldName, []byte(old.Text()), newName, []byte(changed.Text())))
}

func writeFields(b *strings.Builder, m protoreflect.Message, indent string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		v := m.Get(f)
		switch {
		case f.IsMap():
			writeMap(b, f, v.Map(), indent)
		case f.IsList() && f.Message() == nil:
			list := make([]string, v.List().Len())
			for j := range list {
				list[j] = scalar(f, v.List().Get(j))
			}
			fmt.Fprintf(b, "%s%s: [ %s ]\n", indent, f.Name(), strings.Join(list, ", "))
		case f.IsList():
			for j := range v.List().Len() {
				writeMessage(b, string(f.Name()), v.List().Get(j).Message(), indent)
			}
		case f.Message() != nil:
			writeMessage(b, string(f.Name()), v.Message(), indent)
		default:
			fmt.Fprintf(b, "%s%s: %s\n", indent, f.Name(), scalar(f, v))
		}
	}
}

func writeMessage(b *strings.Builder, name string, m protoreflect.Message, indent string) {
	var inner strings.Builder
	writeFields(&inner, m, indent+"  ")
	if inner.Len() == 0 {
		fmt.Fprintf(b, "%s%s { }\n", indent, name)
		return
	}
	fmt.Fprintf(b, "%s%s {\n%s%s}\n", indent, name, inner.String(), indent)
}

// writeMap writes the entries of a map by their keys.
func writeMap(b *strings.Builder, f protoreflect.FieldDescriptor, m protoreflect.Map, indent string) {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	for _, k := range keys {
		fmt.Fprintf(b, "%s%s {\n%s  key: %s\n", indent, f.Name(), indent, scalar(f.MapKey(), k.Value()))
		if v := m.Get(k); f.MapValue().Message() != nil {
			writeMessage(b, "value", v.Message(), indent+"  ")
		} else {
			fmt.Fprintf(b, "%s  value: %s\n", indent, scalar(f.MapValue(), v))
		}
		fmt.Fprintf(b, "%s}\n", indent)
	}
}

func scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch f.Kind() {
	case protoreflect.StringKind:
		return quote(v.String())
	case protoreflect.BytesKind:
		return quote(string(v.Bytes()))
	case protoreflect.EnumKind:
		if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	}
	return v.String()
}

// quote writes a text with the escapes of the text format: octal for what is not printable ASCII.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
