package zoldjinja

import (
	"slices"
	"strings"
)

type attrExpr struct {
	e    expr
	name string
	line int
}

func (e *attrExpr) eval(c *context) any {
	v := e.e.eval(c)
	if u, ok := v.(undefined); ok {
		fail(e.line, "%q is undefined, so it has no %q", string(u), e.name)
	}
	if m := method(v, e.name); m != nil {
		return m
	}
	if d, ok := v.(*Dict); ok {
		if x, ok := d.Get(e.name); ok {
			return x
		}
	}
	if l, ok := v.(*loopValue); ok {
		return l.attr(e.name)
	}
	return undefined(e.name)
}

type itemExpr struct {
	e, at expr
	line  int
}

func (e *itemExpr) eval(c *context) any {
	v := e.e.eval(c)
	if e.at == nil {
		fail(e.line, "an index is missing")
	}
	at := e.at.eval(c)
	if u, ok := v.(undefined); ok {
		fail(e.line, "%q is undefined, so it has no %s", string(u), repr(at))
	}
	return item(v, at)
}

// item is v[at]; undefined if there is none.
func item(v, at any) any {
	switch v := v.(type) {
	case *Dict:
		if x, ok := v.Get(at); ok {
			return x
		}
	case *List:
		if i, ok := index(at, len(v.Items)); ok {
			return v.Items[i]
		}
	case string:
		r := []rune(v)
		if i, ok := index(at, len(r)); ok {
			return string(r[i])
		}
	case *loopValue:
		if s, ok := at.(string); ok {
			return v.attr(s)
		}
	}
	if s, ok := at.(string); ok {
		if m := method(v, s); m != nil {
			return m
		}
	}
	return undefined(str(at))
}

func index(at any, n int) (int, bool) {
	i, ok := at.(int)
	if b, yes := at.(bool); yes {
		ok = true
		if b {
			i = 1
		}
	}
	if i < 0 {
		i += n
	}
	return i, ok && i >= 0 && i < n
}

func (l *loopValue) attr(name string) any {
	n := len(l.items)
	switch name {
	case "index":
		return l.at + 1
	case "index0":
		return l.at
	case "revindex":
		return n - l.at
	case "revindex0":
		return n - l.at - 1
	case "first":
		return l.at == 0
	case "last":
		return l.at == n-1
	case "length":
		return n
	case "depth":
		return l.depth
	case "depth0":
		return l.depth - 1
	case "previtem":
		if l.at > 0 {
			return l.items[l.at-1]
		}
	case "nextitem":
		if l.at < n-1 {
			return l.items[l.at+1]
		}
	case "cycle":
		return function(func(a *arguments) any {
			if len(a.list) == 0 {
				fail(a.line, "cycle needs values")
			}
			return a.list[l.at%len(a.list)]
		})
	}
	return undefined(name)
}

type callExpr struct {
	fn    expr
	args  []expr
	names []string
	named []expr
	line  int
}

func (e *callExpr) eval(c *context) any {
	return e.do(c, e.fn.eval(c), e.arguments(c))
}

func (e *callExpr) do(_ *context, fn any, a *arguments) any {
	switch f := fn.(type) {
	case function:
		return f(a)
	case *loopValue:
		if f.again != nil && len(a.list) == 1 {
			return f.again(a.list[0])
		}
	case undefined:
		fail(e.line, "%q is undefined, it cannot be called", string(f))
	}
	fail(e.line, "%s cannot be called", typeName(fn))
	return nil
}

func (e *callExpr) arguments(c *context) *arguments {
	a := &arguments{named: map[string]any{}, from: c, line: e.line}
	for _, x := range e.args {
		a.list = append(a.list, x.eval(c))
	}
	for i, n := range e.names {
		a.named[n] = e.named[i].eval(c)
	}
	return a
}

type filterExpr struct {
	name string
	call *callExpr // fn is what is filtered
}

func (e *filterExpr) eval(c *context) any {
	v := e.call.fn.eval(c)
	return applyFilter(e.name, v, e.call.arguments(c))
}

type testExpr struct {
	name string
	call *callExpr
	neg  bool
}

func (e *testExpr) eval(c *context) any {
	return applyTest(e.name, e.call.fn.eval(c), e.call.arguments(c)) != e.neg
}

// is reports whether a value is of a type.
func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// applyTest is a test by its name.
func applyTest(name string, v any, a *arguments) bool {
	switch name {
	case "defined":
		return !is[undefined](v)
	case "undefined":
		return is[undefined](v)
	case "none":
		return v == nil
	case "string":
		return is[string](v)
	case "mapping":
		return is[*Dict](v)
	case "boolean":
		return is[bool](v)
	case "true":
		return v == true
	case "false":
		return v == false
	case "integer":
		return is[int](v)
	case "float":
		return is[float64](v)
	case "number":
		_, ok := number(v)
		return ok
	case "sequence", "iterable":
		return is[string](v) || is[*List](v) || is[*Dict](v) || is[undefined](v) && name == "iterable"
	case "callable":
		return is[function](v)
	case "even", "odd", "divisibleby":
		n, _ := v.(int)
		by := 2
		if name == "divisibleby" {
			by, _ = a.get(0, "num", 0).(int)
		}
		if by == 0 {
			fail(a.line, "division by zero")
		}
		return (n%by == 0) != (name == "odd")
	case "lower", "upper":
		s := str(v)
		return s == map[string]string{"lower": strings.ToLower(s), "upper": strings.ToUpper(s)}[name]
	case "in":
		return contains(a.get(0, "seq", undefined("")), v, a.line)
	case "sameas":
		return equal(v, a.get(0, "other", nil)) && typeName(v) == typeName(a.get(0, "other", nil))
	}
	ops := []string{"eq", "==", "equalto", "==", "ne", "!=", "lt", "<", "lessthan", "<", "gt", ">", "greaterthan", ">", "le", "<=", "ge", ">="}
	if i := slices.Index(ops, name); i >= 0 && i%2 == 0 {
		return compare(ops[i+1], v, a.get(0, "other", nil), a.line)
	}
	if slices.Contains([]string{"==", "!=", "<", ">", "<=", ">="}, name) {
		return compare(name, v, a.get(0, "other", nil), a.line)
	}
	fail(a.line, "unknown test %q", name)
	return false
}
