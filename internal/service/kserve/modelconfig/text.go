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
	w := writer{b: &b, unknown: c.unknown}
	w.fields(c.pb.ProtoReflect(), "", "")
	return b.String()
}

// Diff is the difference of two configurations in the form of diff -u; empty if there is none.
func Diff(oldName string, old Config, newName string, changed Config) string {
	return string(diff.Diff(oldName, []byte(old.Text()), newName, []byte(changed.Text())))
}

type writer struct {
	b       *strings.Builder
	unknown []unknown
}

// fields writes the fields of a message. path is that of the message, indent the spaces before each line.
func (w writer) fields(m protoreflect.Message, path, indent string) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		v := m.Get(f)
		switch {
		case f.IsMap():
			w.entries(f, v.Map(), path, indent)
		case f.IsList() && f.Message() == nil:
			list := make([]string, v.List().Len())
			for j := range list {
				list[j] = scalar(f, v.List().Get(j))
			}
			fmt.Fprintf(w.b, "%s%s: [ %s ]\n", indent, f.Name(), strings.Join(list, ", "))
		case f.IsList():
			for j := range v.List().Len() {
				w.message(string(f.Name()), v.List().Get(j).Message(), itemPath(path, f, j), indent)
			}
		case f.Message() != nil:
			w.message(string(f.Name()), v.Message(), fieldPath(path, f), indent)
		default:
			fmt.Fprintf(w.b, "%s%s: %s\n", indent, f.Name(), scalar(f, v))
		}
	}
	for i := range w.unknown {
		if u := &w.unknown[i]; u.path == path {
			u.write(w.b, indent)
		}
	}
}

func (w writer) message(name string, m protoreflect.Message, path, indent string) {
	var inner strings.Builder
	writer{&inner, w.unknown}.fields(m, path, indent+"  ")
	if inner.Len() == 0 {
		fmt.Fprintf(w.b, "%s%s { }\n", indent, name)
		return
	}
	fmt.Fprintf(w.b, "%s%s {\n%s%s}\n", indent, name, inner.String(), indent)
}

// entries writes the entries of a map by their keys.
func (w writer) entries(f protoreflect.FieldDescriptor, m protoreflect.Map, path, indent string) {
	var keys []protoreflect.MapKey
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	for _, k := range keys {
		fmt.Fprintf(w.b, "%s%s {\n%s  key: %s\n", indent, f.Name(), indent, scalar(f.MapKey(), k.Value()))
		if v := m.Get(k); f.MapValue().Message() != nil {
			w.message("value", v.Message(), entryPath(path, f, k.String()), indent+"  ")
		} else {
			fmt.Fprintf(w.b, "%s  value: %s\n", indent, scalar(f.MapValue(), v))
		}
		fmt.Fprintf(w.b, "%s}\n", indent)
	}
}

func scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch kind := f.Kind(); {
	case kind == protoreflect.StringKind:
		return quote(v.String())
	case kind == protoreflect.BytesKind:
		return quote(string(v.Bytes()))
	case kind != protoreflect.EnumKind:
		return v.String()
	}
	if value := f.Enum().Values().ByNumber(v.Enum()); value != nil {
		return string(value.Name())
	}
	return strconv.Itoa(int(v.Enum()))
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
