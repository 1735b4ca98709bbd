package zoldjinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// applyFilter is a filter by its name.
func applyFilter(name string, v any, a *arguments) any {
	if r, ok := textFilter(name, v, a); ok {
		return r
	}
	if r, ok := listFilter(name, v, a); ok {
		return r
	}
	switch name {
	case "default", "d":
		if is[undefined](v) || truth(a.get(1, "boolean", false)) && !truth(v) {
			return a.get(0, "default_value", "")
		}
		return v
	case "length", "count":
		switch v := v.(type) {
		case string:
			return len([]rune(v))
		case undefined:
			return 0
		}
		return len(iterate(v, a.line))
	case "int":
		return toInt(v, a)
	case "float":
		return toFloat(v, a)
	case "abs":
		switch n := v.(type) {
		case int:
			return max(n, -n)
		case float64:
			return math.Abs(n)
		}
		fail(a.line, "%s has no absolute value", typeName(v))
	case "round":
		return round(v, a)
	case "tojson":
		return toJSON(v, a)
	case "items":
		if d, ok := v.(*Dict); ok {
			return d.pairs()
		}
		if is[undefined](v) {
			return &List{}
		}
		fail(a.line, "%s has no items", typeName(v))
	case "dictsort":
		if d, ok := v.(*Dict); ok {
			l := d.pairs()
			slices.SortStableFunc(l.Items, func(x, y any) int {
				return strings.Compare(strings.ToLower(str(x.(*List).Items[0])), strings.ToLower(str(y.(*List).Items[0])))
			})
			return l
		}
		fail(a.line, "%s cannot be sorted as a dict", typeName(v))
	case "attr":
		return item(v, a.get(0, "name", nil))
	}
	fail(a.line, "unknown filter %q", name)
	return nil
}

func textFilter(name string, v any, a *arguments) (any, bool) {
	switch name {
	case "trim":
		return strip(str(v), a.get(0, "chars", nil), true, true), true
	case "upper", "lower", "title", "capitalize", "replace":
		return stringMethod(str(v), name)(a), true
	case "string":
		return str(v), true
	case "safe":
		return v, true
	case "escape", "e", "forceescape":
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;").Replace(str(v)), true
	case "indent":
		return indent(str(v), a), true
	case "wordcount":
		return len(strings.Fields(str(v))), true
	case "format":
		return percent(str(v), &List{Items: a.list, Tuple: true}, a.line), true
	}
	return nil, false
}

// indent moves lines to the right.
func indent(s string, a *arguments) string {
	pad, ok := a.get(0, "width", 4).(string)
	if !ok {
		pad = repeat(" ", a.whole(0, "width", 4), a.line)
	}
	first, blank := truth(a.get(1, "first", false)), truth(a.get(2, "blank", false))
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if i == 0 && !first || i > 0 && l == "" && !blank {
			continue
		}
		lines[i] = pad + l
	}
	return strings.Join(lines, "\n")
}

func toInt(v any, a *arguments) any {
	switch n := v.(type) {
	case string:
		if i, err := strconv.Atoi(strings.TrimSpace(n)); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(strings.TrimSpace(n), 64); err == nil {
			return int(f)
		}
	case float64:
		return int(n)
	case int:
		return n
	case bool:
		f, _ := number(n)
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

func round(v any, a *arguments) any {
	f, ok := number(v)
	if !ok {
		fail(a.line, "%s cannot be rounded", typeName(v))
	}
	scale := math.Pow(10, float64(a.whole(0, "precision", 0)))
	switch a.word(1, "method", "common") {
	case "ceil":
		return math.Ceil(f*scale) / scale
	case "floor":
		return math.Floor(f*scale) / scale
	}
	return math.RoundToEven(f*scale) / scale
}

func listFilter(name string, v any, a *arguments) (any, bool) {
	switch name {
	case "join":
		var parts []string
		for _, it := range mapped(iterate(v, a.line), a.get(1, "attribute", nil)) {
			parts = append(parts, str(it))
		}
		return strings.Join(parts, str(a.get(0, "d", ""))), true
	case "first", "last":
		list := iterate(v, a.line)
		if len(list) == 0 {
			return undefined(name), true
		}
		if name == "first" {
			return list[0], true
		}
		return list[len(list)-1], true
	case "list":
		return &List{Items: slices.Clone(iterate(v, a.line))}, true
	case "reverse":
		list := slices.Clone(iterate(v, a.line))
		slices.Reverse(list)
		if is[string](v) {
			return applyFilter("join", &List{Items: list}, &arguments{}), true
		}
		return &List{Items: list}, true
	case "sort":
		return sorted(v, a), true
	case "unique":
		l := &List{}
		for _, it := range iterate(v, a.line) {
			if !contains(l, it, a.line) {
				l.Items = append(l.Items, it)
			}
		}
		return l, true
	case "sum":
		var total any = 0
		for _, it := range mapped(iterate(v, a.line), a.get(0, "attribute", nil)) {
			total = operate("+", total, it, a.line)
		}
		return total, true
	case "min", "max":
		list := iterate(v, a.line)
		if len(list) == 0 {
			return undefined(name), true
		}
		cmp := func(x, y any) int { return order(x, y, a.line) }
		if name == "min" {
			return slices.MinFunc(list, cmp), true
		}
		return slices.MaxFunc(list, cmp), true
	case "map", "select", "reject", "selectattr", "rejectattr":
		return choose(name, v, a), true
	}
	return nil, false
}

// mapped takes an attribute of each, if one is named.
func mapped(list []any, attr any) []any {
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

func sorted(v any, a *arguments) *List {
	list := slices.Clone(iterate(v, a.line))
	attr := a.get(2, "attribute", nil)
	fold := !truth(a.get(1, "case_sensitive", false))
	key := func(it any) any {
		if attr != nil {
			it = path(it, attr)
		}
		if s, ok := it.(string); ok && fold {
			return strings.ToLower(s)
		}
		return it
	}
	back := truth(a.get(0, "reverse", false))
	slices.SortStableFunc(list, func(x, y any) int {
		n := order(key(x), key(y), a.line)
		if back {
			return -n
		}
		return n
	})
	return &List{Items: list}
}

// choose is map, select, reject, and selectattr and rejectattr by an attribute. A false value, such as None, has no items.
func choose(name string, v any, a *arguments) *List {
	out := &List{}
	if !truth(v) {
		return out
	}
	for _, it := range iterate(v, a.line) {
		if name == "map" {
			out.Items = append(out.Items, mapOne(it, a))
			continue
		}
		args, x := a.list, it
		if strings.HasSuffix(name, "attr") {
			if len(args) == 0 {
				fail(a.line, "%s needs a name", name)
			}
			x, args = path(it, args[0]), args[1:]
		}
		ok := truth(x)
		if len(args) > 0 {
			ok = applyTest(str(args[0]), x, &arguments{list: args[1:], line: a.line})
		}
		if ok != strings.HasPrefix(name, "reject") {
			out.Items = append(out.Items, it)
		}
	}
	return out
}

func mapOne(it any, a *arguments) any {
	if attr, ok := a.named["attribute"]; ok {
		v := path(it, attr)
		if is[undefined](v) {
			return a.get(9, "default", v)
		}
		return v
	}
	if len(a.list) == 0 {
		fail(a.line, "map needs a filter or an attribute")
	}
	return applyFilter(str(a.list[0]), it, &arguments{list: a.list[1:], named: a.named, line: a.line})
}
