package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// toJSON writes a value as Python's json.dumps does, as transformers calls it.
func toJSON(v any, a *arguments) any {
	w := &jsonWriter{item: ", ", colon: ": ", sort: a.yes(3, "sort_keys"), ascii: a.yes(0, "ensure_ascii")}
	switch n := a.get(1, "indent", nil).(type) {
	case int:
		w.indent = repeat(" ", n)
	case string:
		w.indent = n
	}
	if w.indent != "" {
		w.item = ","
	}
	if l, ok := a.get(2, "separators", nil).(*List); ok && len(l.Items) == 2 {
		w.item, w.colon = str(l.Items[0]), str(l.Items[1])
	}
	w.value(v, 0)
	return w.String()
}

type jsonWriter struct {
	strings.Builder
	indent, item, colon string
	sort, ascii         bool
}

func (w *jsonWriter) value(v any, depth int) {
	if depth > 200 {
		fail("a value is nested too deep for JSON")
	}
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int, float64:
		w.WriteString(repr(v))
	case string:
		w.text(v)
	case *List:
		w.group("[]", len(v.Items), depth, func(i int) { w.value(v.Items[i], depth+1) })
	case *Dict:
		keys := slices.Clone(v.keys)
		if w.sort {
			slices.SortFunc(keys, func(x, y any) int { return strings.Compare(str(x), str(y)) })
		}
		w.group("{}", len(keys), depth, func(i int) {
			w.text(str(keys[i]))
			w.WriteString(w.colon)
			w.value(v.values[keys[i]], depth+1)
		})
	default:
		fail("%s cannot be written as JSON", typeName(v))
	}
}

// group writes elements between two brackets.
func (w *jsonWriter) group(brackets string, n, depth int, one func(int)) {
	newline := func(depth int) {
		if w.indent != "" {
			w.WriteString("\n" + strings.Repeat(w.indent, depth))
		}
	}
	w.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			w.WriteString(w.item)
		}
		newline(depth + 1)
		one(i)
	}
	if n > 0 {
		newline(depth)
	}
	w.WriteByte(brackets[1])
}

func (w *jsonWriter) text(s string) {
	w.WriteByte('"')
	for _, r := range s {
		switch i := strings.IndexRune("\"\\\n\r\t\b\f", r); {
		case i >= 0:
			w.WriteByte('\\')
			w.WriteByte(`"\nrtbf`[i])
		case r < 0x20 || w.ascii && r >= 0x7F && r < 0x10000:
			fmt.Fprintf(w, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(w, `\u%04x\u%04x`, high, low)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

// FromJSON reads one JSON value into values of templates, keeping the order of keys.
func FromJSON(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, errors.New("not a JSON value")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return readJSON(d)
}

func readJSON(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		return readGroup(d, t == '[')
	case json.Number:
		if n, err := strconv.Atoi(t.String()); err == nil {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil
}

// readGroup reads an array or an object behind its opening bracket.
func readGroup(d *json.Decoder, array bool) (any, error) {
	l, m := &List{}, NewDict()
	for d.More() {
		v, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		if array {
			l.Items = append(l.Items, v)
			continue
		}
		x, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		m.Set(v, x)
	}
	_, err := d.Token()
	if array {
		return l, err
	}
	return m, err
}
