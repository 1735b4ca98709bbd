package jinja

// loop parses a for tag and its body.
func (p *parser) loop() stmt {
	f := &forLoop{}
	_, f.bind = p.targets()
	if !p.eat(tName, "in") {
		fail("for without in")
	}
	f.over = p.tupleOf(p.or)
	if p.eat(tName, "if") {
		f.cond = p.expr()
	}
	f.recursive = p.eat(tName, "recursive")
	p.done()
	var end string
	f.body, end = p.body("else", "endfor")
	f.otherwise = block(nil)
	if end == "else" {
		f.otherwise = p.until("endfor")
	} else {
		p.done()
	}
	return func(c *scope) jump { return f.run(c, f.over(c), 1) }
}

type forLoop struct {
	bind            func(c *scope, v any)
	over, cond      expr
	body, otherwise stmt
	recursive       bool
}

func (f *forLoop) run(c *scope, over any, depth int) jump {
	items := iterate(over)
	if f.cond != nil {
		var kept []any
		for _, it := range items {
			in := c.child(c.depth + 1)
			f.bind(in, it)
			if truth(f.cond(in)) {
				kept = append(kept, it)
			}
		}
		items = kept
	}
	if len(items) == 0 {
		return f.otherwise(c)
	}
	for i, it := range items {
		c.step()
		in := c.child(c.depth + 1)
		l := &loopValue{items: items, at: i, depth: depth}
		if f.recursive {
			l.again = func(v any) any {
				return in.capture(func(c *scope) jump { return f.run(c.child(c.depth+1), v, depth+1) })
			}
		}
		in.vars["loop"] = l
		f.bind(in, it)
		if f.body(in) == "break" {
			break
		}
	}
	return ""
}

// loopValue is the loop variable.
type loopValue struct {
	items []any
	at    int
	depth int
	again func(any) any // nil: the loop is not recursive
}

func (l *loopValue) attr(name string) any {
	n := len(l.items)
	switch {
	case name == "previtem" && l.at > 0:
		return l.items[l.at-1]
	case name == "nextitem" && l.at < n-1:
		return l.items[l.at+1]
	case name == "cycle":
		return function(func(a *arguments) any {
			if len(a.list) == 0 {
				fail("cycle needs values")
			}
			return a.list[l.at%len(a.list)]
		})
	}
	v, ok := map[string]any{
		"index": l.at + 1, "index0": l.at, "revindex": n - l.at, "revindex0": n - l.at - 1, "first": l.at == 0, "last": l.at == n-1,
		"length": n, "depth": l.depth, "depth0": l.depth - 1,
	}[name]
	if !ok {
		return undefined(name)
	}
	return v
}
