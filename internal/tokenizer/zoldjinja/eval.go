package zoldjinja

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

type literal struct{ v any }

func (e *literal) eval(*context) any { return e.v }

type nameExpr struct{ name string }

func (e *nameExpr) eval(c *context) any {
	if v, ok := c.get(e.name); ok {
		return v
	}
	return undefined(e.name)
}

type condExpr struct{ test, then, otherwise expr }

func (e *condExpr) eval(c *context) any {
	if truth(e.test.eval(c)) {
		return e.then.eval(c)
	}
	if e.otherwise == nil {
		return undefined("")
	}
	return e.otherwise.eval(c)
}

type listExpr struct {
	items []expr
	tuple bool
}

func (e *listExpr) eval(c *context) any {
	l := &List{Tuple: e.tuple, Items: make([]any, len(e.items))}
	for i, it := range e.items {
		l.Items[i] = it.eval(c)
	}
	return l
}

type dictExpr struct{ keys, values []expr }

func (e *dictExpr) eval(c *context) any {
	d := NewDict()
	for i, k := range e.keys {
		d.Set(k.eval(c), e.values[i].eval(c))
	}
	return d
}

type logic struct {
	a, b expr
	or   bool
}

func (e *logic) eval(c *context) any {
	v := e.a.eval(c)
	if truth(v) == e.or {
		return v
	}
	return e.b.eval(c)
}

type notExpr struct{ e expr }

func (e *notExpr) eval(c *context) any { return !truth(e.e.eval(c)) }

type negExpr struct {
	e    expr
	line int
}

func (e *negExpr) eval(c *context) any {
	switch v := e.e.eval(c).(type) {
	case int:
		return -v
	case float64:
		return -v
	default:
		fail(e.line, "%s has no negative", typeName(v))
		return nil
	}
}

type compareExpr struct {
	ops  []string
	list []expr
	line int
}

func (e *compareExpr) eval(c *context) any {
	a := e.list[0].eval(c)
	for i, op := range e.ops {
		b := e.list[i+1].eval(c)
		if !compare(op, a, b, e.line) {
			return false
		}
		a = b
	}
	return true
}

func compare(op string, a, b any, line int) bool {
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "in":
		return contains(b, a, line)
	case "not in":
		return !contains(b, a, line)
	case "<":
		return order(a, b, line) < 0
	case ">":
		return order(a, b, line) > 0
	case "<=":
		return order(a, b, line) <= 0
	}
	return order(a, b, line) >= 0
}

type binaryExpr struct {
	op   string
	a, b expr
	line int
}

func (e *binaryExpr) eval(c *context) any { return operate(e.op, e.a.eval(c), e.b.eval(c), e.line) }

// operate applies an operator to two values.
func operate(op string, a, b any, line int) any {
	if op == "~" {
		return str(a) + str(b)
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok && op == "+" {
			return x + y
		}
		if n, ok := b.(int); ok && op == "*" {
			return repeat(x, n, line)
		}
		if op == "%" {
			return percent(x, b, line)
		}
	case *List:
		if y, ok := b.(*List); ok && op == "+" {
			return &List{Items: slices.Concat(x.Items, y.Items), Tuple: x.Tuple}
		}
	case int:
		if y, ok := b.(int); ok {
			return integers(op, x, y, line)
		}
		if y, ok := b.(string); ok && op == "*" {
			return repeat(y, x, line)
		}
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if !ok1 || !ok2 {
		if u, ok := a.(undefined); ok {
			fail(line, "%q is undefined", string(u))
		}
		fail(line, "%s and %s cannot be joined with %s", typeName(a), typeName(b), op)
	}
	return floats(op, x, y, line)
}

func repeat(s string, n, line int) string {
	if n > 0 && len(s)*n > 1<<26 {
		fail(line, "a string would be too long")
	}
	return strings.Repeat(s, max(n, 0))
}

func integers(op string, x, y, line int) any {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "//", "%", "/":
		if y == 0 {
			fail(line, "division by zero")
		}
	case "**":
		if y >= 0 {
			n := 1
			for range min(y, 64) {
				n *= x
			}
			return n
		}
	}
	switch op {
	case "//":
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		return q
	case "%":
		r := x % y
		if r != 0 && (r < 0) != (y < 0) {
			r += y
		}
		return r
	}
	return floats(op, float64(x), float64(y), line)
}

func floats(op string, x, y float64, line int) any {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return math.Pow(x, y)
	}
	if y == 0 {
		fail(line, "division by zero")
	}
	switch op {
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	}
	return x - y*math.Floor(x/y)
}

type sliceExpr struct {
	e     expr
	parts [3]expr
	line  int
}

func (e *sliceExpr) eval(c *context) any {
	v := e.e.eval(c)
	var at [3]*int
	for i, p := range e.parts {
		if p == nil {
			continue
		}
		switch n := p.eval(c).(type) {
		case int:
			at[i] = &n
		case nil:
		default:
			fail(e.line, "%s is no place in a list", typeName(n))
		}
	}
	switch v := v.(type) {
	case string:
		if utf8.RuneCountInString(v) == len(v) {
			var b strings.Builder
			for _, i := range places(len(v), at, e.line) {
				b.WriteByte(v[i])
			}
			return b.String()
		}
		r := []rune(v)
		var out []rune
		for _, i := range places(len(r), at, e.line) {
			out = append(out, r[i])
		}
		return string(out)
	case *List:
		out := &List{Tuple: v.Tuple}
		for _, i := range places(len(v.Items), at, e.line) {
			out.Items = append(out.Items, v.Items[i])
		}
		return out
	case undefined:
		fail(e.line, "%q is undefined", string(v))
	}
	fail(e.line, "%s has no parts", typeName(v))
	return nil
}

// places are the indexes of a slice, as Python counts.
func places(n int, at [3]*int, line int) []int {
	step := 1
	if at[2] != nil {
		step = *at[2]
	}
	if step == 0 {
		fail(line, "a slice has step zero")
	}
	from, to := 0, n
	if step < 0 {
		from, to = n-1, -1
	}
	clip := func(p *int, low, high int) int {
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	if at[0] != nil {
		from = clip(at[0], low, high)
	}
	if at[1] != nil {
		to = clip(at[1], low, high)
	}
	var list []int
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		list = append(list, i)
	}
	return list
}
