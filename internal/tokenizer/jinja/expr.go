package jinja

import (
	"strconv"
	"strings"
)

// expr parses one expression: a conditional one, or simpler.
func (p *parser) expr() expr {
	defer p.nested()()
	e := p.or()
	for p.eat(tName, "if") {
		then, test := e, p.or()
		otherwise := expr(func(*scope) any { return undefined("") })
		if p.eat(tName, "else") {
			otherwise = p.expr()
		}
		e = func(c *scope) any {
			if truth(test(c)) {
				return then(c)
			}
			return otherwise(c)
		}
	}
	return e
}

// tuple parses an expression, or several with commas, which make a tuple.
func (p *parser) tuple() expr { return p.tupleOf(p.expr) }

func (p *parser) tupleOf(one func() expr) expr {
	e := one()
	if !p.is(tOp, ",") {
		return e
	}
	list := []expr{e}
	for p.eat(tOp, ",") {
		if p.peek().kind == tEnd || p.is(tOp, ")", "=") {
			break
		}
		list = append(list, one())
	}
	return listOf(list, true)
}

func listOf(items []expr, tuple bool) expr {
	return func(c *scope) any {
		l := &List{Tuple: tuple, Items: make([]any, len(items))}
		for i, e := range items {
			l.Items[i] = e(c)
		}
		return l
	}
}

func (p *parser) or() expr  { return p.logic(p.and, "or", true) }
func (p *parser) and() expr { return p.logic(p.not, "and", false) }

// logic parses a chain of or, or of and, which ends with the first value that is true, or false.
func (p *parser) logic(next func() expr, op string, ends bool) expr {
	e := next()
	for p.eat(tName, op) {
		a, b := e, next()
		e = func(c *scope) any {
			if v := a(c); truth(v) == ends {
				return v
			}
			return b(c)
		}
	}
	return e
}

func (p *parser) not() expr {
	defer p.nested()()
	if p.eat(tName, "not") {
		e := p.not()
		return func(c *scope) any { return !truth(e(c)) }
	}
	return p.comparison()
}

// comparison parses a chain such as a < b <= c, which holds if each pair does.
func (p *parser) comparison() expr {
	list := []expr{p.sum()}
	var ops []string
	for {
		op := p.peek().text
		switch {
		case p.is(tOp, "==", "!=", "<", ">", "<=", ">="), p.is(tName, "in"):
			p.pos++
		case p.is(tName, "not") && p.pos+1 < len(p.toks) && p.toks[p.pos+1] == token{tName, "in"}:
			op = "not in"
			p.pos += 2
		case len(ops) == 0:
			return list[0]
		default:
			return func(c *scope) any {
				a := list[0](c)
				for i, op := range ops {
					b := list[i+1](c)
					if !compare(op, a, b) {
						return false
					}
					a = b
				}
				return true
			}
		}
		ops, list = append(ops, op), append(list, p.sum())
	}
}

// binary parses a chain of operators of one rank.
func (p *parser) binary(next func() expr, ops ...string) expr {
	e := next()
	for p.is(tOp, ops...) {
		op := p.peek().text
		p.pos++
		a, b := e, next()
		e = func(c *scope) any { return operate(op, a(c), b(c)) }
	}
	return e
}

func (p *parser) sum() expr     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.binary(p.product, "~") }
func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.binary(func() expr { return p.filtered(p.unary()) }, "**") }

func (p *parser) unary() expr {
	defer p.nested()()
	switch {
	case p.eat(tOp, "-"):
		e := p.unary()
		return func(c *scope) any { return operate("-", 0, e(c)) }
	case p.eat(tOp, "+"):
		return p.unary()
	}
	return p.postfix(p.primary())
}

func constant(v any) expr { return func(*scope) any { return v } }

func (p *parser) primary() expr {
	t := p.peek()
	p.pos++
	switch t.kind {
	case tString:
		var text strings.Builder
		for text.WriteString(t.text); p.peek().kind == tString; p.pos++ { // strings side by side are one
			text.WriteString(p.peek().text)
		}
		return constant(text.String())
	case tNumber:
		return constant(parseNumber(t.text))
	case tName:
		switch t.text {
		case "true", "True":
			return constant(true)
		case "false", "False":
			return constant(false)
		case "none", "None":
			return constant(nil)
		}
		return func(c *scope) any { return c.get(t.text) }
	default:
		switch t.text {
		case "(":
			if p.eat(tOp, ")") {
				return listOf(nil, true)
			}
			e := p.tuple()
			p.want(")")
			return e
		case "[":
			var items []expr
			p.separated("]", func() { items = append(items, p.expr()) })
			return listOf(items, false)
		case "{":
			return p.dict()
		}
	}
	fail("an expression is missing before %q", t.text)
	return nil
}

func parseNumber(text string) any {
	text = strings.ReplaceAll(text, "_", "")
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") {
		fail("%s is too large", text)
	}
	return f
}

// separated parses elements up to the end, with commas between them. A comma may follow the last one.
func (p *parser) separated(end string, element func()) {
	for first := true; !p.eat(tOp, end); first = false {
		if !first {
			p.want(",")
			if p.eat(tOp, end) {
				return
			}
		}
		element()
	}
}

func (p *parser) dict() expr {
	var keys, values []expr
	p.separated("}", func() {
		keys = append(keys, p.expr())
		p.want(":")
		values = append(values, p.expr())
	})
	return func(c *scope) any {
		d := NewDict()
		for i, k := range keys {
			d.Set(k(c), values[i](c))
		}
		return d
	}
}
