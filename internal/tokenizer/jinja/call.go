package jinja

// arguments are those of a call, a filter or a test.
type arguments struct {
	list  []any
	named map[string]any
	from  *scope
}

// lookup finds an argument by place or name.
func (a *arguments) lookup(i int, name string) (any, bool) {
	if i < len(a.list) {
		return a.list[i], true
	}
	v, ok := a.named[name]
	return v, ok
}

// get is an argument by place or name.
func (a *arguments) get(i int, name string, otherwise any) any {
	if v, ok := a.lookup(i, name); ok {
		return v
	}
	return otherwise
}

// yes reports whether an argument is true.
func (a *arguments) yes(i int, name string) bool { return truth(a.get(i, name, false)) }

// typed is an argument of a type. None is as if it were not given.
func typed[T any](a *arguments, i int, name string, otherwise T) T {
	v := a.get(i, name, otherwise)
	if v == nil {
		return otherwise
	}
	t, ok := v.(T)
	if !ok {
		fail("%s is %s, not %s", name, typeName(v), typeName(otherwise))
	}
	return t
}

// arguments parses arguments up to the closing parenthesis.
func (p *parser) arguments() func(c *scope) *arguments {
	var list, named []expr
	var names []string
	p.separated(")", func() {
		if p.is(tOp, "*", "**") {
			fail("* and ** in calls are not supported")
		}
		if p.peek().kind == tName && p.pos+1 < len(p.toks) && p.toks[p.pos+1] == (token{tOp, "="}) {
			names = append(names, p.name())
			p.want("=")
			named = append(named, p.expr())
			return
		}
		list = append(list, p.expr())
	})
	return func(c *scope) *arguments {
		a := &arguments{named: map[string]any{}, from: c}
		for _, e := range list {
			a.list = append(a.list, e(c))
		}
		for i, name := range names {
			a.named[name] = named[i](c)
		}
		return a
	}
}

// invoke parses the call of a function behind the opening parenthesis.
func (p *parser) invoke(of expr) expr {
	args := p.arguments()
	return func(c *scope) any {
		fn, a := of(c), args(c)
		if block, ok := c.vars[callerVar]; ok {
			a.named["caller"] = block
		}
		switch f := fn.(type) {
		case function:
			return f(a)
		case *loopValue:
			if f.again != nil && len(a.list) == 1 {
				return f.again(a.list[0])
			}
		case undefined:
			fail("%q is undefined, it cannot be called", string(f))
		}
		fail("%s cannot be called", typeName(fn))
		return nil
	}
}

// filtering changes a value.
type filtering func(c *scope, v any) any

// filter parses the name and the arguments of a filter.
func (p *parser) filter() filtering {
	name, args := p.name(), noArguments
	if p.eat(tOp, "(") {
		args = p.arguments()
	}
	return func(c *scope, v any) any { return args(c).filter(name, v) }
}

// filters parses further filters of a block behind the first one.
func (p *parser) filters(first filtering) filtering {
	for p.eat(tOp, "|") {
		before, next := first, p.filter()
		first = func(c *scope, v any) any { return next(c, before(c, v)) }
	}
	return first
}

func noArguments(c *scope) *arguments { return &arguments{from: c} }

// filter applies a filter by its name.
func (a *arguments) filter(name string, v any) any {
	f := a.from.filters[name]
	if f == nil {
		fail("unknown filter %q", name)
	}
	return f(v, a)
}

// test parses a test behind is.
func (p *parser) test(of expr) expr {
	neg := p.eat(tName, "not")
	name, args := p.name(), noArguments
	next := p.peek()
	keyword := p.is(tName, "else", "or", "and", "if", "is", "not", "in", "recursive")
	switch {
	case p.eat(tOp, "("):
		args = p.arguments()
	case next.kind == tString, next.kind == tNumber, next.kind == tName && !keyword, p.is(tOp, "[", "{"):
		one := p.postfix(p.primary())
		args = func(c *scope) *arguments { return &arguments{list: []any{one(c)}, from: c} }
	}
	return func(c *scope) any { return args(c).test(name, of(c)) != neg }
}

// test applies a test by its name.
func (a *arguments) test(name string, v any) bool {
	t := a.from.tests[name]
	if t == nil {
		fail("unknown test %q", name)
	}
	return t(v, a)
}
