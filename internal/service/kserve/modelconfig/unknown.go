package modelconfig

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// unknown is a field of a configuration that this program does not know: a server may be newer. The field is kept as it is, in the
// override and in the text.
type unknown struct {
	path  string // of the message that has the field
	name  string
	value any  // as encoding/json reads it, numbers as json.Number
	enum  bool // the field is known, its value is a new name of its enum
}

// visit calls f with every message of a JSON document and the path of the message.
func visit(message protoreflect.MessageDescriptor, v any, path string, f func(message protoreflect.MessageDescriptor, object map[string]any, path string)) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	f(message, object, path)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field := fieldOf(message, name)
		switch {
		case field == nil:
		case field.IsMap():
			entries, _ := object[name].(map[string]any)
			for key, one := range entries {
				if inner := field.MapValue().Message(); inner != nil {
					visit(inner, one, entryPath(path, field, key), f)
				}
			}
		case field.Message() == nil:
		case field.IsList():
			list, _ := object[name].([]any)
			for i, one := range list {
				visit(field.Message(), one, itemPath(path, field, i), f)
			}
		default:
			visit(field.Message(), object[name], fieldPath(path, field), f)
		}
	}
}

func fieldPath(path string, f protoreflect.FieldDescriptor) string { return path + f.TextName() + "." }

func itemPath(path string, f protoreflect.FieldDescriptor, i int) string {
	return fmt.Sprintf("%s%s[%d].", path, f.TextName(), i)
}

func entryPath(path string, f protoreflect.FieldDescriptor, key string) string {
	return fmt.Sprintf("%s%s[%q].", path, f.TextName(), key)
}

func fieldOf(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := message.Fields().ByTextName(name); f != nil {
		return f
	}
	return message.Fields().ByJSONName(name)
}

// readUnknown lists the unknown fields of a JSON document, in the order of their paths.
func readUnknown(message protoreflect.MessageDescriptor, text []byte) ([]unknown, error) {
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	var list []unknown
	visit(message, doc, "", func(message protoreflect.MessageDescriptor, object map[string]any, path string) {
		for name, v := range object {
			field := fieldOf(message, name)
			word, isWord := v.(string)
			switch {
			case v == nil: // null is no value
			case field == nil:
				list = append(list, unknown{path: path, name: name, value: v})
			case isWord && field.Enum() != nil && field.Enum().Values().ByName(protoreflect.Name(word)) == nil:
				list = append(list, unknown{path: path, name: field.TextName(), value: v, enum: true})
			}
		}
	})
	slices.SortFunc(list, func(a, b unknown) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name)) })
	return list, nil
}

// addUnknown adds the unknown fields to a JSON document. Those of a message that is not there any more are left out.
func addUnknown(message protoreflect.MessageDescriptor, text []byte, list []unknown) ([]byte, error) {
	if len(list) == 0 {
		return text, nil
	}
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	visit(message, doc, "", func(_ protoreflect.MessageDescriptor, object map[string]any, path string) {
		for i := range list {
			if list[i].path == path {
				object[list[i].name] = list[i].value
			}
		}
	})
	return json.Marshal(doc)
}

func decode(text []byte) (doc any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&doc)
	return doc, err
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	integer    = regexp.MustCompile(`^-?[0-9]+$`)
	enumName   = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
)

// write writes the field in the text format. JSON does not say whether a text is a string, a 64-bit number or the name of an enum: the
// comment asks the reader to check it.
func (u *unknown) write(b *strings.Builder, indent string) {
	if !u.enum {
		fmt.Fprintf(b, "%s# Redline does not know the field %s: compare it with the model's config.pbtxt.\n", indent, quote(u.name))
	}
	writeValue(b, u.name, u.value, indent)
}

func writeValue(b *strings.Builder, name string, v any, indent string) {
	if !identifier.MatchString(name) {
		return // no field of a message has such a name; the comment names it
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		object, ok := one.(map[string]any)
		switch {
		case !ok:
			fmt.Fprintf(b, "%s%s: %s\n", indent, name, plain(one))
			continue
		case isMap(object):
			for _, key := range slices.Sorted(maps.Keys(object)) {
				fmt.Fprintf(b, "%s%s {\n%s  key: %s\n", indent, name, indent, quote(key))
				writeValue(b, "value", object[key], indent+"  ")
				fmt.Fprintf(b, "%s}\n", indent)
			}
			continue
		}
		fmt.Fprintf(b, "%s%s {\n", indent, name)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			writeValue(b, key, object[key], indent+"  ")
		}
		fmt.Fprintf(b, "%s}\n", indent)
	}
}

// isMap tells whether an object cannot be a message: a key is no name of a field.
func isMap(object map[string]any) bool {
	for key := range object {
		if !identifier.MatchString(key) {
			return true
		}
	}
	return false
}

func plain(v any) string {
	text, ok := v.(string)
	if !ok || integer.MatchString(text) || enumName.MatchString(text) {
		return fmt.Sprint(v)
	}
	return quote(text)
}
