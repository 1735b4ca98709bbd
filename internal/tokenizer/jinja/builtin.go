package jinja

import (
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
		"raise_exception": function(func(a *arguments) any { panic(failure{raised(str(a.get(0, "message", "")))}) }),
		"strftime_now":    function(func(a *arguments) any { return strftime(typed(a, 0, "format", ""), time.Now()) }),
	}
}

// raised is an error of the template's own.
type raised string

func (r raised) Error() string { return string(r) }

func rangeOf(a *arguments) any {
	from, to, step := 0, typed(a, 0, "stop", 0), typed(a, 2, "step", 1)
	if len(a.list) > 1 {
		from, to = to, typed(a, 1, "stop", 0)
	}
	if step == 0 || (to-from)/step > 100000 {
		fail("range(%d, %d, %d) is too long", from, to, step)
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
	return directives(format, func(letter byte) string { return t.Format(layouts[letter]) })
}

// percent is Python's old way to format: %s, %d, %r and %%.
func percent(s string, v any) string {
	args := []any{v}
	if l, ok := v.(*List); ok && l.Tuple {
		args = l.Items
	}
	return directives(s, func(letter byte) string {
		if len(args) == 0 {
			fail("there are too few values for %q", s)
		}
		v := args[0]
		args = args[1:]
		switch letter {
		case 'r':
			return repr(v)
		case 's', 'd', 'i':
			return str(v)
		}
		fail("%%%c is not supported", letter)
		return ""
	})
}

// directives replaces a percent sign and a letter. Two percent signs are one.
func directives(s string, replace func(letter byte) string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 || i+1 == len(s) {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if s[i+1] == '%' {
			b.WriteByte('%')
		} else {
			b.WriteString(replace(s[i+1]))
		}
		s = s[i+2:]
	}
}

// braceFormat is Python's str.format with {}, {0} and {name}.
func braceFormat(s string, a *arguments) string {
	var b strings.Builder
	next := 0
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		if strings.HasPrefix(s[i+1:], s[i:i+1]) {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		key, rest, ok := strings.Cut(s[i+1:], "}")
		if s[i] == '}' || !ok {
			fail("a brace stands alone")
		}
		s = rest
		n, err := strconv.Atoi(key)
		if key == "" {
			n, err = next, nil
			next++
		}
		v := a.get(len(a.list), key, undefined(key))
		if err == nil {
			if n < 0 || n >= len(a.list) {
				fail("there are too few values to format")
			}
			v = a.list[n]
		}
		b.WriteString(str(v))
	}
}
