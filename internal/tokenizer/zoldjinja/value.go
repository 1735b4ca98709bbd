package zoldjinja

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/unit"
)

// List is a Python list; Tuple marks one that prints with parentheses.
type List struct {
	Items []any
	Tuple bool
}

// Dict is a Python dict: it keeps the order of its keys.
type Dict struct {
	keys   []any
	values map[any]any
}

// NewDict makes an empty one.
func NewDict() *Dict { return &Dict{values: map[any]any{}} }

// Set sets a key; a key that is not a string, number or boolean is refused.
func (d *Dict) Set(key, v any) {
	switch key.(type) {
	case string, int, float64, bool, nil:
	default:
		fail(0, "%s cannot be a key", typeName(key))
	}
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

// Get finds a key.
func (d *Dict) Get(key any) (any, bool) {
	switch key.(type) {
	case string, int, float64, bool, nil:
		v, ok := d.values[key]
		return v, ok
	}
	return nil, false
}

// Each calls fn with every key that is a string.
func (d *Dict) Each(fn func(key string, v any)) {
	for _, k := range d.keys {
		if name, ok := k.(string); ok {
			fn(name, d.values[k])
		}
	}
}

// undefined is a name that has no value.
type undefined string

// function is what can be called.
type function func(a *arguments) any

// arguments are those of a call.
type arguments struct {
	list  []any
	named map[string]any
	from  *context
	line  int
}

// get is an argument by place or name.
func (a *arguments) get(i int, name string, otherwise any) any {
	if i < len(a.list) {
		return a.list[i]
	}
	if v, ok := a.named[name]; ok {
		return v
	}
	return otherwise
}

// loopValue is the loop variable.
type loopValue struct {
	items []any
	at    int
	depth int
	again func(any) string
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return len(v.keys) > 0
	}
	return true
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "None"
	case undefined:
		return "an undefined value"
	case bool:
		return "a boolean"
	case int, float64:
		return "a number"
	case string:
		return "a string"
	case *List:
		return "a list"
	case *Dict:
		return "a dict"
	}
	return "a function"
}

// str is what Python's str gives.
func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	return repr(v)
}

// repr is what Python's repr gives.
func repr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int:
		return strconv.Itoa(v)
	case float64:
		return unit.Python(v)
	case string:
		return quote(v)
	case undefined:
		return "Undefined"
	case *List:
		parts := make([]string, len(v.Items))
		for i, it := range v.Items {
			parts[i] = repr(it)
		}
		if v.Tuple && len(parts) == 1 {
			return "(" + parts[0] + ",)"
		}
		if v.Tuple {
			return "(" + strings.Join(parts, ", ") + ")"
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *Dict:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = repr(k) + ": " + repr(v.values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("<%s>", typeName(v))
}

// quote writes a string as Python does.
func quote(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	var b strings.Builder
	b.WriteString(q)
	for _, r := range s {
		switch {
		case r == '\\' || string(r) == q:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7F:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(q)
	return b.String()
}

// iterate is what a loop goes over.
func iterate(v any, line int) []any {
	switch v := v.(type) {
	case *List:
		return v.Items
	case *Dict:
		return v.keys
	case string:
		var list []any
		for _, r := range v {
			list = append(list, string(r))
		}
		return list
	case undefined:
		return nil
	}
	fail(line, "%s cannot be looped over", typeName(v))
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func equal(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && a == s
	case undefined:
		_, ok := b.(undefined)
		return ok
	case *List:
		l, ok := b.(*List)
		return ok && slices.EqualFunc(a.Items, l.Items, equal)
	case *Dict:
		d, ok := b.(*Dict)
		if !ok || len(a.keys) != len(d.keys) {
			return false
		}
		for _, k := range a.keys {
			if v, ok := d.values[k]; !ok || !equal(a.values[k], v) {
				return false
			}
		}
		return true
	}
	return false
}

// order compares two values that have an order.
func order(a, b any, line int) int {
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 && ok2 {
		return cmp.Compare(x, y)
	}
	s, ok1 := a.(string)
	t, ok2 := b.(string)
	if ok1 && ok2 {
		return strings.Compare(s, t)
	}
	l, ok1 := a.(*List)
	m, ok2 := b.(*List)
	if ok1 && ok2 {
		return slices.CompareFunc(l.Items, m.Items, func(p, q any) int { return order(p, q, line) })
	}
	fail(line, "%s and %s have no order", typeName(a), typeName(b))
	return 0
}

// contains is Python's in.
func contains(in, v any, line int) bool {
	switch in := in.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			fail(line, "%s cannot be in a string", typeName(v))
		}
		return strings.Contains(in, s)
	case *Dict:
		_, ok := in.Get(v)
		return ok
	}
	return slices.ContainsFunc(iterate(in, line), func(it any) bool { return equal(it, v) })
}
