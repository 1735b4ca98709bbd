package jinja

import "unicode/utf8"

// postfix parses attributes, subscripts and calls behind an expression.
func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.eat(tOp, "."):
			e = p.member(e)
		case p.eat(tOp, "["):
			e = p.subscript(e)
		case p.eat(tOp, "("):
			e = p.invoke(e)
		default:
			return e
		}
	}
}

// filtered parses filters, tests and calls behind an expression.
func (p *parser) filtered(e expr) expr {
	for {
		of := e
		switch {
		case p.eat(tOp, "|"):
			apply := p.filter()
			e = func(c *scope) any { return apply(c, of(c)) }
		case p.eat(tName, "is"):
			e = p.test(of)
		case p.eat(tOp, "("):
			e = p.invoke(of)
		default:
			return e
		}
	}
}

// member parses the name, or the number, behind a dot.
func (p *parser) member(of expr) expr {
	if t := p.peek(); t.kind == tNumber {
		p.pos++
		return func(c *scope) any { return item(of(c), parseNumber(t.text)) }
	}
	name := p.name()
	return func(c *scope) any {
		v := of(c)
		if u, ok := v.(undefined); ok {
			fail("%q is undefined, so it has no %q", string(u), name)
		}
		if m := method(v, name); m != nil {
			return m
		}
		if is[*Dict](v) || is[*loopValue](v) {
			return item(v, name)
		}
		return undefined(name)
	}
}

// item is v[at]; undefined if there is none.
func item(v, at any) any {
	name, named := at.(string)
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
		if named {
			return v.attr(name)
		}
	}
	if m := method(v, name); named && m != nil {
		return m
	}
	return undefined(str(at))
}

// index is a place in a list, which may be counted from the end.
func index(at any, n int) (int, bool) {
	f, ok := number(at)
	i := int(f)
	if i < 0 {
		i += n
	}
	return i, ok && !is[float64](at) && i >= 0 && i < n
}

// subscript parses v[at] and v[from:to:step] behind the opening bracket.
func (p *parser) subscript(of expr) expr {
	var parts [3]expr
	n := 0
	for !p.eat(tOp, "]") {
		if !p.eat(tOp, ":") {
			parts[n] = p.tuple()
		} else if n++; n == len(parts) {
			fail("a slice has at most three parts")
		}
	}
	if n > 0 {
		return func(c *scope) any { return slice(of(c), c, parts) }
	}
	if parts[0] == nil {
		fail("an index is missing")
	}
	return func(c *scope) any {
		v, at := of(c), parts[0](c)
		if u, ok := v.(undefined); ok {
			fail("%q is undefined, so it has no %s", string(u), repr(at))
		}
		return item(v, at)
	}
}

func slice(v any, c *scope, parts [3]expr) any {
	var at [3]*int
	for i, p := range parts {
		if p == nil {
			continue
		}
		switch n := p(c).(type) {
		case int:
			at[i] = &n
		case nil:
		default:
			fail("%s is no place in a list", typeName(n))
		}
	}
	switch v := v.(type) {
	case string:
		if utf8.RuneCountInString(v) == len(v) {
			return string(pick([]byte(v), at))
		}
		return string(pick([]rune(v), at))
	case *List:
		return &List{Tuple: v.Tuple, Items: pick(v.Items, at)}
	case undefined:
		fail("%q is undefined", string(v))
	}
	fail("%s has no parts", typeName(v))
	return nil
}

// pick returns the elements of a slice, as Python counts: from, to, step.
func pick[T any](list []T, at [3]*int) []T {
	n, step := len(list), 1
	if at[2] != nil {
		step = *at[2]
	}
	if step == 0 {
		fail("a slice has step zero")
	}
	from, to, low, high := 0, n, 0, n
	if step < 0 {
		from, to, low, high = n-1, -1, -1, n-1
	}
	for i, place := range []*int{&from, &to} {
		if at[i] == nil {
			continue
		}
		if *place = *at[i]; *place < 0 {
			*place += n
		}
		*place = min(max(*place, low), high)
	}
	var out []T
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, list[i])
	}
	return out
}
