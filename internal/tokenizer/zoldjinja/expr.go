package zoldjinja

import (
	"strconv"
	"strings"
)

// expr is an expression.
type expr interface{ eval(c *context) any }

// expr parses one expression: a conditional one, or simpler.
func (p *parser) expr() expr {
	if p.depth++; p.depth > 200 {
		fail(p.line, "expressions are nested too deep")
	}
	defer func() { p.depth-- }()
	e := p.orTest()
	for p.eat(tName, "if") {
		test := p.orTest()
		var otherwise expr
		if p.eat(tName, "else") {
			otherwise = p.expr()
		}
		e = &condExpr{test, e, otherwise}
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
		if t := p.peek(); t.kind == tEnd || t.kind == tOp && (t.text == ")" || t.text == "=") {
			break
		}
		list = append(list, one())
	}
	return &listExpr{items: list, tuple: true}
}

func (p *parser) orTest() expr {
	e := p.andTest()
	for p.eat(tName, "or") {
		e = &logic{e, p.andTest(), true}
	}
	return e
}

func (p *parser) andTest() expr {
	e := p.notTest()
	for p.eat(tName, "and") {
		e = &logic{e, p.notTest(), false}
	}
	return e
}

func (p *parser) notTest() expr {
	if p.eat(tName, "not") {
		return &notExpr{p.notTest()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	first := p.sum()
	var ops []string
	list := []expr{first}
	for {
		t := p.peek()
		op := ""
		switch {
		case t.kind == tOp && (t.text == "==" || t.text == "!=" || t.text == "<" || t.text == ">" || t.text == "<=" || t.text == ">="):
			op = t.text
			p.pos++
		case p.eat(tName, "in"):
			op = "in"
		case p.is(tName, "not") && p.pos+1 < len(p.toks) && p.toks[p.pos+1].text == "in":
			p.pos += 2
			op = "not in"
		}
		if op == "" {
			break
		}
		ops, list = append(ops, op), append(list, p.sum())
	}
	if len(ops) == 0 {
		return first
	}
	return &compareExpr{ops, list, p.line}
}

// binary parses a chain of operators of one rank.
func (p *parser) binary(next func() expr, ops ...string) expr {
	e := next()
	for {
		found := ""
		for _, op := range ops {
			if p.eat(tOp, op) {
				found = op
				break
			}
		}
		if found == "" {
			return e
		}
		e = &binaryExpr{found, e, next(), p.line}
	}
}

func (p *parser) sum() expr     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expr  { return p.binary(p.product, "~") }
func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.binary(func() expr { return p.unary(true) }, "**") }

func (p *parser) unary(filtered bool) expr {
	if p.depth++; p.depth > 200 {
		fail(p.line, "expressions are nested too deep")
	}
	defer func() { p.depth-- }()
	var e expr
	switch {
	case p.eat(tOp, "-"):
		e = &negExpr{p.unary(false), p.line}
	case p.eat(tOp, "+"):
		e = p.unary(false)
	default:
		e = p.postfix(p.primary())
	}
	if filtered {
		e = p.filters(e)
	}
	return e
}

func (p *parser) primary() expr {
	t := p.peek()
	p.pos++
	switch t.kind {
	case tString:
		parts := []string{t.text}
		for p.peek().kind == tString { // strings side by side are one
			parts = append(parts, p.peek().text)
			p.pos++
		}
		return &literal{strings.Join(parts, "")}
	case tInt:
		n, err := strconv.Atoi(t.text)
		if err != nil {
			fail(p.line, "%s is too large", t.text)
		}
		return &literal{n}
	case tFloat:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			fail(p.line, "%s is not a number", t.text)
		}
		return &literal{f}
	case tName:
		switch t.text {
		case "true", "True":
			return &literal{true}
		case "false", "False":
			return &literal{false}
		case "none", "None":
			return &literal{nil}
		}
		return &nameExpr{t.text}
	case tOp:
		switch t.text {
		case "(":
			if p.eat(tOp, ")") {
				return &listExpr{tuple: true}
			}
			e := p.tuple()
			p.want(")")
			return e
		case "[":
			return &listExpr{items: p.list("]")}
		case "{":
			return p.dict()
		}
	default:
	}
	fail(p.line, "an expression is missing before %q", t.text)
	return nil
}

func (p *parser) list(end string) []expr {
	var items []expr
	p.separated(end, func() { items = append(items, p.expr()) })
	return items
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
	d := &dictExpr{}
	p.separated("}", func() {
		d.keys = append(d.keys, p.expr())
		p.want(":")
		d.values = append(d.values, p.expr())
	})
	return d
}

func (p *parser) postfix(e expr) expr {
	for {
		switch {
		case p.eat(tOp, "."):
			if t := p.peek(); t.kind == tInt {
				p.pos++
				n, _ := strconv.Atoi(t.text)
				e = &itemExpr{e, &literal{n}, p.line}
				continue
			}
			e = &attrExpr{e, p.name(), p.line}
		case p.eat(tOp, "["):
			e = p.subscript(e)
		case p.eat(tOp, "("):
			e = p.args(&callExpr{fn: e, line: p.line})
		default:
			return e
		}
	}
}

func (p *parser) subscript(e expr) expr {
	var parts [3]expr
	n, slice := 0, false
	for !p.eat(tOp, "]") {
		if p.eat(tOp, ":") {
			slice = true
			if n++; n > 2 {
				fail(p.line, "a slice has at most three parts")
			}
			continue
		}
		parts[n] = p.tuple()
	}
	if slice {
		return &sliceExpr{e, parts, p.line}
	}
	return &itemExpr{e, parts[0], p.line}
}

// args parses arguments up to the closing parenthesis.
func (p *parser) args(c *callExpr) *callExpr {
	p.separated(")", func() {
		if p.eat(tOp, "**") || p.eat(tOp, "*") {
			fail(p.line, "* and ** in calls are not supported")
		}
		if p.peek().kind == tName && p.pos+1 < len(p.toks) && p.toks[p.pos+1].kind == tOp && p.toks[p.pos+1].text == "=" {
			name := p.name()
			p.pos++
			c.names, c.named = append(c.names, name), append(c.named, p.expr())
			return
		}
		c.args = append(c.args, p.expr())
	})
	return c
}

// filters parses |filter and is test behind an expression.
func (p *parser) filters(e expr) expr {
	for {
		switch {
		case p.eat(tOp, "|"):
			f := &callExpr{fn: e, line: p.line}
			name := p.name()
			if p.eat(tOp, "(") {
				p.args(f)
			}
			e = &filterExpr{name: name, call: f}
		case p.eat(tName, "is"):
			e = p.test(e)
		case p.is(tOp, "("):
			p.pos++
			e = p.args(&callExpr{fn: e, line: p.line})
		default:
			return e
		}
	}
}

func (p *parser) test(e expr) expr {
	neg := p.eat(tName, "not")
	t := &testExpr{name: p.name(), call: &callExpr{fn: e, line: p.line}, neg: neg}
	next := p.peek()
	switch {
	case p.eat(tOp, "("):
		p.args(t.call)
	case next.kind == tString || next.kind == tInt || next.kind == tFloat,
		next.kind == tOp && (next.text == "[" || next.text == "{"),
		next.kind == tName && next.text != "else" && next.text != "or" && next.text != "and" && next.text != "if" && next.text != "is" && next.text != "not" && next.text != "in" && next.text != "recursive":
		t.call.args = []expr{p.postfix(p.primary())}
	}
	return t
}
