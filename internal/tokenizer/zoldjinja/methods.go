package zoldjinja

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// method is the method of a value; nil if it has none of the name.
func method(v any, name string) any {
	var f function
	switch v := v.(type) {
	case string:
		f = stringMethod(v, name)
	case *List:
		f = listMethod(v, name)
	case *Dict:
		f = dictMethod(v, name)
	}
	if f == nil {
		return nil
	}
	return f
}

// word is a string argument.
func (a *arguments) word(i int, name, otherwise string) string {
	v := a.get(i, name, otherwise)
	s, ok := v.(string)
	if !ok && v != nil {
		fail(a.line, "%s is %s, not a string", name, typeName(v))
	}
	return s
}

// whole is an integer argument.
func (a *arguments) whole(i int, name string, otherwise int) int {
	v := a.get(i, name, otherwise)
	n, ok := v.(int)
	if !ok {
		fail(a.line, "%s is %s, not a number", name, typeName(v))
	}
	return n
}

func stringMethod(s, name string) func(*arguments) any {
	switch name {
	case "upper":
		return func(*arguments) any { return strings.ToUpper(s) }
	case "lower":
		return func(*arguments) any { return strings.ToLower(s) }
	case "title":
		return func(*arguments) any { return title(s) }
	case "capitalize":
		return func(*arguments) any { return capitalize(s) }
	case "strip", "lstrip", "rstrip":
		return func(a *arguments) any { return strip(s, a.get(0, "chars", nil), name != "rstrip", name != "lstrip") }
	case "startswith", "endswith":
		return func(a *arguments) any { return affix(s, a.get(0, "prefix", ""), name == "startswith", a.line) }
	case "split", "rsplit":
		return func(a *arguments) any {
			return splitText(s, a.get(0, "sep", nil), a.whole(1, "maxsplit", -1), name == "rsplit", a.line)
		}
	case "splitlines":
		return func(*arguments) any {
			l := &List{}
			for line := range strings.Lines(s) {
				l.Items = append(l.Items, strings.TrimRight(line, "\r\n"))
			}
			return l
		}
	case "replace":
		return func(a *arguments) any {
			return strings.Replace(s, a.word(0, "old", ""), a.word(1, "new", ""), a.whole(2, "count", -1))
		}
	case "join":
		return func(a *arguments) any {
			var parts []string
			for _, v := range iterate(a.get(0, "iterable", nil), a.line) {
				parts = append(parts, str(v))
			}
			return strings.Join(parts, s)
		}
	case "find", "index":
		return func(a *arguments) any { return runeIndex(s, strings.Index(s, a.word(0, "sub", ""))) }
	case "rfind":
		return func(a *arguments) any { return runeIndex(s, strings.LastIndex(s, a.word(0, "sub", ""))) }
	case "count":
		return func(a *arguments) any { return strings.Count(s, a.word(0, "sub", "")) }
	case "removeprefix":
		return func(a *arguments) any { return strings.TrimPrefix(s, a.word(0, "prefix", "")) }
	case "removesuffix":
		return func(a *arguments) any { return strings.TrimSuffix(s, a.word(0, "suffix", "")) }
	case "isdigit", "isnumeric", "isdecimal":
		return every(s, unicode.IsDigit)
	case "isalpha":
		return every(s, unicode.IsLetter)
	case "isalnum":
		return every(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	case "isspace":
		return every(s, unicode.IsSpace)
	case "isupper":
		return func(*arguments) any { return s == strings.ToUpper(s) && s != strings.ToLower(s) }
	case "islower":
		return func(*arguments) any { return s == strings.ToLower(s) && s != strings.ToUpper(s) }
	case "format":
		return func(a *arguments) any { return braceFormat(s, a) }
	}
	return nil
}

func every(s string, is func(rune) bool) func(*arguments) any {
	return func(*arguments) any {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

func runeIndex(s string, at int) int {
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

// space tells what Python strips and splits at.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

func strip(s string, chars any, left, right bool) string {
	cut := space
	if set, ok := chars.(string); ok {
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

func affix(s string, v any, front bool, line int) bool {
	switch v := v.(type) {
	case string:
		if front {
			return strings.HasPrefix(s, v)
		}
		return strings.HasSuffix(s, v)
	case *List:
		return slices.ContainsFunc(v.Items, func(it any) bool { return affix(s, it, front, line) })
	}
	fail(line, "%s is no beginning or end of a string", typeName(v))
	return false
}

func splitText(s string, sep any, most int, right bool, line int) *List {
	l := &List{}
	if sep == nil {
		for _, f := range strings.FieldsFunc(s, space) {
			l.Items = append(l.Items, f)
		}
		return l
	}
	by, ok := sep.(string)
	if !ok || by == "" {
		fail(line, "a string cannot be split at %s", repr(sep))
	}
	if !right || most < 0 {
		n := -1
		if most >= 0 {
			n = most + 1
		}
		for _, part := range strings.SplitN(s, by, n) {
			l.Items = append(l.Items, part)
		}
		return l
	}
	for ; most > 0; most-- {
		i := strings.LastIndex(s, by)
		if i < 0 {
			break
		}
		l.Items = append(l.Items, s[i+len(by):])
		s = s[:i]
	}
	l.Items = append(l.Items, s)
	slices.Reverse(l.Items)
	return l
}

func listMethod(l *List, name string) func(*arguments) any {
	switch name {
	case "append":
		return func(a *arguments) any { l.Items = append(l.Items, a.get(0, "object", nil)); return nil }
	case "extend":
		return func(a *arguments) any {
			l.Items = append(l.Items, iterate(a.get(0, "iterable", nil), a.line)...)
			return nil
		}
	case "insert":
		return func(a *arguments) any {
			at := a.whole(0, "index", 0)
			if at < 0 {
				at += len(l.Items)
			}
			l.Items = slices.Insert(l.Items, min(max(at, 0), len(l.Items)), a.get(1, "object", nil))
			return nil
		}
	case "pop":
		return func(a *arguments) any {
			i, ok := index(a.get(0, "index", -1), len(l.Items))
			if !ok {
				fail(a.line, "pop from a list that is too short")
			}
			v := l.Items[i]
			l.Items = slices.Delete(slices.Clone(l.Items), i, i+1)
			return v
		}
	case "index":
		return func(a *arguments) any {
			i := slices.IndexFunc(l.Items, func(v any) bool { return equal(v, a.get(0, "value", nil)) })
			if i < 0 {
				fail(a.line, "%s is not in the list", repr(a.get(0, "value", nil)))
			}
			return i
		}
	case "count":
		return func(a *arguments) any {
			n := 0
			for _, v := range l.Items {
				if equal(v, a.get(0, "value", nil)) {
					n++
				}
			}
			return n
		}
	case "reverse":
		return func(*arguments) any { slices.Reverse(l.Items); return nil }
	}
	return nil
}

func dictMethod(d *Dict, name string) func(*arguments) any {
	switch name {
	case "items":
		return func(*arguments) any { return d.pairs() }
	case "keys":
		return func(*arguments) any { return &List{Items: slices.Clone(d.keys)} }
	case "values":
		return func(*arguments) any {
			l := &List{}
			for _, k := range d.keys {
				l.Items = append(l.Items, d.values[k])
			}
			return l
		}
	case "get":
		return func(a *arguments) any {
			if v, ok := d.Get(a.get(0, "key", nil)); ok {
				return v
			}
			return a.get(1, "default", nil)
		}
	case "update":
		return func(a *arguments) any {
			if o, ok := a.get(0, "other", nil).(*Dict); ok {
				for _, k := range o.keys {
					d.Set(k, o.values[k])
				}
			}
			for k, v := range a.named {
				d.Set(k, v)
			}
			return nil
		}
	case "copy":
		return func(*arguments) any { return d.copy() }
	}
	return nil
}

func (d *Dict) copy() *Dict { return &Dict{keys: slices.Clone(d.keys), values: maps.Clone(d.values)} }

// pairs are the keys with their values.
func (d *Dict) pairs() *List {
	l := &List{}
	for _, k := range d.keys {
		l.Items = append(l.Items, &List{Items: []any{k, d.values[k]}, Tuple: true})
	}
	return l
}
