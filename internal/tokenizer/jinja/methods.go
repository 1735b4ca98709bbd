package jinja

import (
	"slices"
	"strings"
	"unicode"
)

// method is the method of a value; nil if it has none of the name.
func method(v any, name string) any {
	switch v := v.(type) {
	case string:
		return bound(stringMethods[name], v)
	case *List:
		return bound(listMethods[name], v)
	case *Dict:
		return bound(dictMethods[name], v)
	}
	return nil
}

// bound makes a function of the method of a value.
func bound[T any](m func(T, *arguments) any, v T) any {
	if m == nil {
		return nil
	}
	return function(func(a *arguments) any { return m(v, a) })
}

var stringMethods = map[string]func(s string, a *arguments) any{
	"upper":        func(s string, _ *arguments) any { return strings.ToUpper(s) },
	"lower":        func(s string, _ *arguments) any { return strings.ToLower(s) },
	"title":        func(s string, _ *arguments) any { return title(s) },
	"capitalize":   func(s string, _ *arguments) any { return capitalize(s) },
	"strip":        func(s string, a *arguments) any { return strip(s, a, true, true) },
	"lstrip":       func(s string, a *arguments) any { return strip(s, a, true, false) },
	"rstrip":       func(s string, a *arguments) any { return strip(s, a, false, true) },
	"startswith":   func(s string, a *arguments) any { return affix(s, a.get(0, "prefix", ""), strings.HasPrefix) },
	"endswith":     func(s string, a *arguments) any { return affix(s, a.get(0, "suffix", ""), strings.HasSuffix) },
	"removeprefix": func(s string, a *arguments) any { return strings.TrimPrefix(s, typed(a, 0, "prefix", "")) },
	"removesuffix": func(s string, a *arguments) any { return strings.TrimSuffix(s, typed(a, 0, "suffix", "")) },
	"split":        func(s string, a *arguments) any { return split(s, a, false) },
	"rsplit":       func(s string, a *arguments) any { return split(s, a, true) },
	"splitlines": func(s string, _ *arguments) any {
		l := &List{}
		for line := range strings.Lines(s) {
			l.Items = append(l.Items, strings.TrimRight(line, "\r\n"))
		}
		return l
	},
	"replace": func(s string, a *arguments) any {
		return strings.Replace(s, typed(a, 0, "old", ""), typed(a, 1, "new", ""), typed(a, 2, "count", -1))
	},
	"join":      func(s string, a *arguments) any { return join(iterate(a.get(0, "iterable", nil)), s) },
	"find":      func(s string, a *arguments) any { return place(s, strings.Index(s, typed(a, 0, "sub", ""))) },
	"index":     func(s string, a *arguments) any { return place(s, strings.Index(s, typed(a, 0, "sub", ""))) },
	"rfind":     func(s string, a *arguments) any { return place(s, strings.LastIndex(s, typed(a, 0, "sub", ""))) },
	"count":     func(s string, a *arguments) any { return strings.Count(s, typed(a, 0, "sub", "")) },
	"isdigit":   every(unicode.IsDigit),
	"isnumeric": every(unicode.IsDigit),
	"isdecimal": every(unicode.IsDigit),
	"isalpha":   every(unicode.IsLetter),
	"isalnum":   every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }),
	"isspace":   every(unicode.IsSpace),
	"isupper":   func(s string, _ *arguments) any { return s == strings.ToUpper(s) && s != strings.ToLower(s) },
	"islower":   func(s string, _ *arguments) any { return s == strings.ToLower(s) && s != strings.ToUpper(s) },
	"format":    func(s string, a *arguments) any { return braceFormat(s, a) },
}

// every makes a method that tests all characters.
func every(is func(rune) bool) func(string, *arguments) any {
	return func(s string, _ *arguments) any {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

func join(list []any, by string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = str(v)
	}
	return strings.Join(parts, by)
}

// place is a place in characters instead of bytes.
func place(s string, at int) int {
	if at < 0 {
		return -1
	}
	return len([]rune(s[:at]))
}

func title(s string) string {
	begin := true
	return strings.Map(func(r rune) rune {
		up := begin
		begin = !unicode.IsLetter(r)
		if up {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func capitalize(s string) string {
	r := []rune(strings.ToLower(s))
	if len(r) > 0 {
		r[0] = unicode.ToTitle(r[0])
	}
	return string(r)
}

// white tells what Python strips and splits at.
func white(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

func strip(s string, a *arguments, left, right bool) string {
	cut := white
	if set, ok := a.get(0, "chars", nil).(string); ok {
		cut = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}

// affix reports whether a string has a beginning or an end, or one of several.
func affix(s string, v any, has func(s, part string) bool) bool {
	switch v := v.(type) {
	case string:
		return has(s, v)
	case *List:
		return slices.ContainsFunc(v.Items, func(it any) bool { return affix(s, it, has) })
	}
	fail("%s is no beginning or end of a string", typeName(v))
	return false
}

func split(s string, a *arguments, right bool) *List {
	sep, most := a.get(0, "sep", nil), typed(a, 1, "maxsplit", -1)
	l := &List{}
	if sep == nil {
		for f := range strings.FieldsFuncSeq(s, white) {
			l.Items = append(l.Items, f)
		}
		return l
	}
	by, ok := sep.(string)
	if !ok || by == "" {
		fail("a string cannot be split at %s", repr(sep))
	}
	parts := strings.Split(s, by)
	if n := len(parts) - 1 - most; most >= 0 && n > 0 && right {
		parts = append([]string{strings.Join(parts[:n+1], by)}, parts[n+1:]...)
	} else if most >= 0 && n > 0 {
		parts = append(parts[:most:most], strings.Join(parts[most:], by))
	}
	for _, part := range parts {
		l.Items = append(l.Items, part)
	}
	return l
}

var listMethods = map[string]func(l *List, a *arguments) any{
	"append": func(l *List, a *arguments) any { l.Items = append(l.Items, a.get(0, "object", nil)); return nil },
	"extend": func(l *List, a *arguments) any {
		l.Items = append(l.Items, iterate(a.get(0, "iterable", nil))...)
		return nil
	},
	"insert": func(l *List, a *arguments) any {
		at := typed(a, 0, "index", 0)
		if at < 0 {
			at += len(l.Items)
		}
		l.Items = slices.Insert(l.Items, min(max(at, 0), len(l.Items)), a.get(1, "object", nil))
		return nil
	},
	"pop": func(l *List, a *arguments) any {
		i, ok := index(a.get(0, "index", -1), len(l.Items))
		if !ok {
			fail("pop from a list that is too short")
		}
		v := l.Items[i]
		l.Items = slices.Delete(slices.Clone(l.Items), i, i+1)
		return v
	},
	"index": func(l *List, a *arguments) any {
		v := a.get(0, "value", nil)
		i := slices.IndexFunc(l.Items, func(it any) bool { return equal(it, v) })
		if i < 0 {
			fail("%s is not in the list", repr(v))
		}
		return i
	},
	"count": func(l *List, a *arguments) any {
		n := 0
		for _, v := range l.Items {
			if equal(v, a.get(0, "value", nil)) {
				n++
			}
		}
		return n
	},
	"reverse": func(l *List, _ *arguments) any { slices.Reverse(l.Items); return nil },
}

var dictMethods = map[string]func(d *Dict, a *arguments) any{
	"items": func(d *Dict, _ *arguments) any { return d.pairs() },
	"keys":  func(d *Dict, _ *arguments) any { return &List{Items: slices.Clone(d.keys)} },
	"values": func(d *Dict, _ *arguments) any {
		l := &List{}
		for _, k := range d.keys {
			l.Items = append(l.Items, d.values[k])
		}
		return l
	},
	"get": func(d *Dict, a *arguments) any {
		if v, ok := d.Get(a.get(0, "key", nil)); ok {
			return v
		}
		return a.get(1, "default", nil)
	},
	"update": func(d *Dict, a *arguments) any {
		if o, ok := a.get(0, "other", nil).(*Dict); ok {
			for _, k := range o.keys {
				d.Set(k, o.values[k])
			}
		}
		for k, v := range a.named {
			d.Set(k, v)
		}
		return nil
	},
	"copy": func(d *Dict, _ *arguments) any { return d.copy() },
}
