package zoldjinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// builtins are the functions that templates may call.
func builtins() map[string]any {
	return map[string]any{
		"range": function(rangeOf), "namespace": function(dictOf), "dict": function(dictOf),
		"raise_exception": function(func(a *arguments) any {
			panic(failure{errors.New(str(a.get(0, "message", "")))})
		}),
		"strftime_now": function(func(a *arguments) any { return strftime(a.word(0, "format", ""), time.Now()) }),
	}
}

func rangeOf(a *arguments) any {
	from, to, step := 0, a.whole(0, "stop", 0), 1
	if len(a.list) > 1 {
		from, to = to, a.whole(1, "stop", 0)
	}
	if len(a.list) > 2 {
		step = a.whole(2, "step", 1)
	}
	if step == 0 || (to-from)/step > 100000 {
		fail(a.line, "range(%d, %d, %d) is too long", from, to, step)
	}
	l := &List{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		l.Items = append(l.Items, i)
	}
	return l
}

func dictOf(a *arguments) any {
	d := NewDict()
	if o, ok := a.get(0, "", nil).(*Dict); ok {
		d = o.copy()
	}
	for _, k := range slices.Sorted(maps.Keys(a.named)) {
		d.Set(k, a.named[k])
	}
	return d
}

// strftime writes a time by Python's letters.
func strftime(format string, t time.Time) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'H': "15", 'M': "04", 'S': "05", 'A': "Monday",
		'a': "Mon", 'y': "06", 'I': "03", 'p': "PM", 'Z': "MST", 'z': "-0700", 'j': "002", 'e': "_2",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] == '%' && i+1 < len(format) {
			i++
			if l, ok := layouts[format[i]]; ok {
				b.WriteString(t.Format(l))
			} else if format[i] == '%' {
				b.WriteByte('%')
			}
			continue
		}
		b.WriteByte(format[i])
	}
	return b.String()
}

// percent is Python's old way to format: %s, %d, %r and %%.
func percent(s string, v any, line int) string {
	args := []any{v}
	if l, ok := v.(*List); ok && l.Tuple {
		args = l.Items
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(args) == 0 {
			fail(line, "there are too few values for %q", s)
		}
		switch s[i] {
		case 'r':
			b.WriteString(repr(args[0]))
		case 's', 'd', 'i':
			b.WriteString(str(args[0]))
		default:
			fail(line, "%%%c is not supported", s[i])
		}
		args = args[1:]
	}
	return b.String()
}

// braceFormat is Python's str.format with {}, {0} and {name}.
func braceFormat(s string, a *arguments) string {
	var b strings.Builder
	next := 0
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		if strings.HasPrefix(s[i+1:], s[i:i+1]) {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if s[i] == '}' || end < 0 {
			fail(a.line, "a brace stands alone")
		}
		key := s[i+1 : i+end]
		s = s[i+end+1:]
		n, err := strconv.Atoi(key)
		if key == "" {
			n, err = next, nil
			next++
		}
		v := a.get(len(a.list), key, undefined(key))
		if err == nil {
			if n < 0 || n >= len(a.list) {
				fail(a.line, "there are too few values to format")
			}
			v = a.list[n]
		}
		b.WriteString(str(v))
	}
	return b.String() + s
}

// toJSON writes a value as Python's json.dumps does, as transformers calls it.
func toJSON(v any, a *arguments) string {
	w := &jsonWriter{item: ", ", colon: ": ", line: a.line}
	switch n := a.get(1, "indent", nil).(type) {
	case int:
		w.indent = repeat(" ", n, a.line)
	case string:
		w.indent = n
	}
	if w.indent != "" {
		w.item = ","
	}
	w.sort = truth(a.get(3, "sort_keys", false))
	w.ascii = truth(a.get(0, "ensure_ascii", false))
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
	line                int
}

func (w *jsonWriter) newline(depth int) {
	if w.indent != "" {
		w.WriteByte('\n')
		w.WriteString(strings.Repeat(w.indent, depth))
	}
}

func (w *jsonWriter) value(v any, depth int) {
	if depth > 200 {
		fail(w.line, "a value is nested too deep for JSON")
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
		w.group('[', ']', len(v.Items), depth, func(i int) { w.value(v.Items[i], depth+1) })
	case *Dict:
		keys := v.keys
		if w.sort {
			keys = slices.Clone(keys)
			slices.SortFunc(keys, func(x, y any) int { return strings.Compare(str(x), str(y)) })
		}
		w.group('{', '}', len(keys), depth, func(i int) {
			w.text(str(keys[i]))
			w.WriteString(w.colon)
			w.value(v.values[keys[i]], depth+1)
		})
	default:
		fail(w.line, "%s cannot be written as JSON", typeName(v))
	}
}

func (w *jsonWriter) group(open, end byte, n, depth int, one func(int)) {
	w.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.WriteString(w.item)
		}
		w.newline(depth + 1)
		one(i)
	}
	if n > 0 {
		w.newline(depth)
	}
	w.WriteByte(end)
}

func (w *jsonWriter) text(s string) {
	w.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r == '\n':
			w.WriteString(`\n`)
		case r == '\r':
			w.WriteString(`\r`)
		case r == '\t':
			w.WriteString(`\t`)
		case r == '\b':
			w.WriteString(`\b`)
		case r == '\f':
			w.WriteString(`\f`)
		case r < 0x20 || w.ascii && r >= 0x7F && r < 0x10000:
			fmt.Fprintf(w, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(w, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

// FromJSON reads JSON into values of templates, keeping the order of keys.
func FromJSON(data []byte) (any, error) {
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
		l, m := &List{}, NewDict()
		for d.More() {
			v, err := readJSON(d)
			if err != nil {
				return nil, err
			}
			if t == '[' {
				l.Items = append(l.Items, v)
				continue
			}
			x, err := readJSON(d)
			if err != nil {
				return nil, err
			}
			m.Set(v, x)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if t == '[' {
			return l, nil
		}
		return m, nil
	case json.Number:
		if n, err := strconv.Atoi(t.String()); err == nil {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil
}
