package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// filter changes a value.
type filter func(v any, a *arguments) any

// filters are the filters by their names.
func filters() map[string]filter {
	f := map[string]filter{
		"trim":        func(v any, a *arguments) any { return strip(str(v), a, true, true) },
		"string":      func(v any, _ *arguments) any { return str(v) },
		"safe":        func(v any, _ *arguments) any { return v },
		"escape":      escape,
		"e":           escape,
		"forceescape": escape,
		"indent":      indent,
		"wordcount":   func(v any, _ *arguments) any { return len(strings.Fields(str(v))) },
		"format":      func(v any, a *arguments) any { return percent(str(v), &List{Items: a.list, Tuple: true}) },
		"default":     orDefault,
		"d":           orDefault,
		"length":      length,
		"count":       length,
		"int":         toInt,
		"float":       toFloat,
		"abs":         absolute,
		"round":       round,
		"tojson":      toJSON,
		"items":       items,
		"dictsort":    dictSort,
		"attr":        func(v any, a *arguments) any { return item(v, a.get(0, "name", nil)) },
		"join": func(v any, a *arguments) any {
			return join(mapped(v, a.get(1, "attribute", nil)), str(a.get(0, "d", "")))
		},
		"first":      func(v any, _ *arguments) any { return item(&List{Items: iterate(v)}, 0) },
		"last":       func(v any, _ *arguments) any { return item(&List{Items: iterate(v)}, -1) },
		"list":       func(v any, _ *arguments) any { return &List{Items: slices.Clone(iterate(v))} },
		"reverse":    reverse,
		"sort":       sorted,
		"unique":     unique,
		"sum":        sum,
		"min":        func(v any, _ *arguments) any { return extreme(v, slices.MinFunc[[]any]) },
		"max":        func(v any, _ *arguments) any { return extreme(v, slices.MaxFunc[[]any]) },
		"map":        mapEach,
		"select":     func(v any, a *arguments) any { return choose(v, a, false, true) },
		"reject":     func(v any, a *arguments) any { return choose(v, a, false, false) },
		"selectattr": func(v any, a *arguments) any { return choose(v, a, true, true) },
		"rejectattr": func(v any, a *arguments) any { return choose(v, a, true, false) },
	}
	for _, name := range []string{"upper", "lower", "title", "capitalize", "replace"} {
		f[name] = func(v any, a *arguments) any { return stringMethods[name](str(v), a) }
	}
	return f
}

func escape(v any, _ *arguments) any {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;").Replace(str(v))
}

// indent moves lines to the right.
func indent(v any, a *arguments) any {
	pad, ok := a.get(0, "width", 4).(string)
	if !ok {
		pad = repeat(" ", typed(a, 0, "width", 4))
	}
	lines := strings.Split(str(v), "\n")
	for i, l := range lines {
		if i == 0 && a.yes(1, "first") || i > 0 && (l != "" || a.yes(2, "blank")) {
			lines[i] = pad + l
		}
	}
	return strings.Join(lines, "\n")
}

func orDefault(v any, a *arguments) any {
	if is[undefined](v) || a.yes(1, "boolean") && !truth(v) {
		return a.get(0, "default_value", "")
	}
	return v
}

func length(v any, _ *arguments) any { return len(iterate(v)) }

func toInt(v any, a *arguments) any {
	if s, ok := v.(string); ok {
		v = nil
		if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			v = f
		}
	}
	if f, ok := number(v); ok {
		return int(f)
	}
	return a.get(0, "default", 0)
}

func toFloat(v any, a *arguments) any {
	if f, ok := number(v); ok {
		return f
	}
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return f
		}
	}
	return a.get(0, "default", 0.0)
}

func absolute(v any, _ *arguments) any {
	switch n := v.(type) {
	case int:
		return max(n, -n)
	case float64:
		return math.Abs(n)
	}
	fail("%s has no absolute value", typeName(v))
	return nil
}

func round(v any, a *arguments) any {
	f, ok := number(v)
	if !ok {
		fail("%s cannot be rounded", typeName(v))
	}
	scale := math.Pow(10, float64(typed(a, 0, "precision", 0)))
	to := map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor}[typed(a, 1, "method", "")]
	if to == nil {
		to = math.RoundToEven
	}
	return to(f*scale) / scale
}

func items(v any, _ *arguments) any {
	if is[undefined](v) {
		return &List{}
	}
	d, ok := v.(*Dict)
	if !ok {
		fail("%s has no items", typeName(v))
	}
	return d.pairs()
}

func dictSort(v any, a *arguments) any {
	if !is[*Dict](v) {
		fail("%s cannot be sorted as a dict", typeName(v))
	}
	l := v.(*Dict).pairs()
	key := func(pair any) string { return strings.ToLower(str(item(pair, 0))) }
	slices.SortStableFunc(l.Items, func(x, y any) int { return strings.Compare(key(x), key(y)) })
	return l
}

func reverse(v any, _ *arguments) any {
	list := slices.Clone(iterate(v))
	slices.Reverse(list)
	if is[string](v) {
		return join(list, "")
	}
	return &List{Items: list}
}

func unique(v any, _ *arguments) any {
	l := &List{}
	for _, it := range iterate(v) {
		if !contains(l, it) {
			l.Items = append(l.Items, it)
		}
	}
	return l
}

func sum(v any, a *arguments) any {
	var total any = 0
	for _, it := range mapped(v, a.get(0, "attribute", nil)) {
		total = operate("+", total, it)
	}
	return total
}

// extreme is the least or the greatest of a list.
func extreme(v any, find func([]any, func(x, y any) int) any) any {
	list := iterate(v)
	if len(list) == 0 {
		return undefined("")
	}
	return find(list, order)
}

// mapped takes an attribute of each, if one is named.
func mapped(v, attr any) []any {
	list := iterate(v)
	if attr == nil {
		return list
	}
	out := make([]any, len(list))
	for i, it := range list {
		out[i] = path(it, attr)
	}
	return out
}

// path follows a name with dots.
func path(v, attr any) any {
	s, ok := attr.(string)
	if !ok {
		return item(v, attr)
	}
	for name := range strings.SplitSeq(s, ".") {
		v = item(v, name)
	}
	return v
}

func sorted(v any, a *arguments) any {
	list := slices.Clone(iterate(v))
	attr := a.get(2, "attribute", nil)
	key := func(it any) any {
		if attr != nil {
			it = path(it, attr)
		}
		if s, ok := it.(string); ok && !a.yes(1, "case_sensitive") {
			return strings.ToLower(s)
		}
		return it
	}
	back := a.yes(0, "reverse")
	slices.SortStableFunc(list, func(x, y any) int {
		if back {
			x, y = y, x
		}
		return order(key(x), key(y))
	})
	return &List{Items: list}
}

// choose is select and reject by a test, of an attribute if attr. A false value, such as None, has no items.
func choose(v any, a *arguments, attr, keep bool) any {
	out := &List{}
	if !truth(v) {
		return out
	}
	for _, it := range iterate(v) {
		rest, x := a.list, it
		if attr {
			if len(rest) == 0 {
				fail("an attribute to choose by is missing")
			}
			x, rest = path(it, rest[0]), rest[1:]
		}
		ok := truth(x)
		if len(rest) > 0 {
			ok = (&arguments{list: rest[1:], from: a.from}).test(str(rest[0]), x)
		}
		if ok == keep {
			out.Items = append(out.Items, it)
		}
	}
	return out
}

// mapEach takes an attribute of each, or applies a filter to each. A false value has no items.
func mapEach(v any, a *arguments) any {
	out := &List{}
	if !truth(v) {
		return out
	}
	attr, named := a.named["attribute"]
	if !named && len(a.list) == 0 {
		fail("map needs a filter or an attribute")
	}
	for _, it := range iterate(v) {
		if !named {
			rest := &arguments{list: a.list[1:], named: a.named, from: a.from}
			out.Items = append(out.Items, rest.filter(str(a.list[0]), it))
			continue
		}
		x := path(it, attr)
		if otherwise, ok := a.named["default"]; ok && is[undefined](x) {
			x = otherwise
		}
		out.Items = append(out.Items, x)
	}
	return out
}
