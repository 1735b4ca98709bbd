package jinja

import (
	"slices"
	"strings"
)

type parser struct {
	parts []part
	at    int
	toks  []token
	pos   int
	line  int
	depth int
}

// Parse parses a template.
func Parse(src string) (t *Template, err error) {
	p := &parser{}
	defer func() { err = recovered(recover(), p.line) }()
	p.parts = lex(src, &p.line)
	body, _ := p.body()
	return &Template{body, filters(), tests()}, nil
}

// nested counts how deep the parser is in tags and expressions; the function it returns is for the way out.
func (p *parser) nested() func() {
	if p.depth++; p.depth > 200 {
		fail("tags and expressions are nested too deep")
	}
	return func() { p.depth-- }
}

// body parses statements up to a tag with one of the names, which is consumed up to its name.
func (p *parser) body(ends ...string) (stmt, string) {
	defer p.nested()()
	var list []stmt
	for p.at < len(p.parts) {
		part := p.parts[p.at]
		p.at++
		if part.kind == 't' {
			list = append(list, func(c *scope) jump { c.out.WriteString(part.text); return "" })
			continue
		}
		p.toks, p.pos, p.line = part.tokens, 0, part.line
		var run stmt
		if part.kind == '{' {
			e := p.tuple()
			p.done()
			run = func(c *scope) jump { c.out.WriteString(str(e(c))); return "" }
		} else {
			name := p.name()
			if slices.Contains(ends, name) {
				return block(list), name
			}
			run = p.statement(name)
		}
		list = append(list, func(c *scope) jump { c.line = part.line; return run(c) })
	}
	if len(ends) > 0 {
		fail("%s is missing", strings.Join(ends, " or "))
	}
	return block(list), ""
}

// block runs statements up to a jump.
func block(list []stmt) stmt {
	return func(c *scope) jump {
		for _, s := range list {
			c.step()
			if j := s(c); j != "" {
				return j
			}
		}
		return ""
	}
}

// until parses the end of a tag, and statements up to the tag that ends the block.
func (p *parser) until(end string) stmt {
	p.done()
	body, _ := p.body(end)
	p.done()
	return body
}

func (p *parser) done() {
	if p.pos < len(p.toks) {
		fail("unexpected %q", p.toks[p.pos].text)
	}
}

func (p *parser) peek() token {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return token{}
}

func (p *parser) is(kind tokenKind, texts ...string) bool {
	t := p.peek()
	return t.kind == kind && slices.Contains(texts, t.text)
}

func (p *parser) eat(kind tokenKind, text string) bool {
	if p.is(kind, text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(op string) {
	if !p.eat(tOp, op) {
		fail("%q is missing before %q", op, p.peek().text)
	}
}

func (p *parser) name() string {
	t := p.peek()
	if t.kind != tName {
		fail("a name is missing before %q", t.text)
	}
	p.pos++
	return t.text
}

func (p *parser) statement(name string) stmt {
	switch name {
	case "if":
		return p.ifs()
	case "for":
		return p.loop()
	case "set":
		return p.set()
	case "macro":
		return p.macro()
	case "break", "continue":
		p.done()
		return func(*scope) jump { return jump(name) }
	case "generation": // marks the model's own text; it changes nothing
		return p.until("endgeneration")
	case "filter":
		apply := p.filters(p.filter())
		body := p.until("endfilter")
		return func(c *scope) jump {
			in := c.child(c.depth + 1)
			c.out.WriteString(str(apply(in, in.capture(body))))
			return ""
		}
	case "call":
		return p.call()
	case "do":
		e := p.tuple()
		p.done()
		return func(c *scope) jump { e(c); return "" }
	}
	fail("unknown tag %q", name)
	return nil
}

func (p *parser) ifs() stmt {
	test := p.tuple()
	p.done()
	then, end := p.body("elif", "else", "endif")
	otherwise := block(nil)
	switch end {
	case "elif":
		otherwise = p.ifs()
	case "else":
		otherwise = p.until("endif")
	default:
		p.done()
	}
	return func(c *scope) jump {
		if truth(test(c)) {
			return then(c)
		}
		return otherwise(c)
	}
}

// targets are the names that a loop or an assignment fills; bind gives them their values.
func (p *parser) targets() (names []string, bind func(c *scope, v any)) {
	paren := p.eat(tOp, "(")
	names = []string{p.name()}
	for p.eat(tOp, ",") {
		names = append(names, p.name())
	}
	if paren {
		p.want(")")
	}
	return names, func(c *scope, v any) {
		values := []any{v}
		if len(names) > 1 {
			values = iterate(v)
		}
		if len(values) != len(names) {
			fail("%d values for %d names", len(values), len(names))
		}
		for i, n := range names {
			c.vars[n] = values[i]
		}
	}
}

func (p *parser) set() stmt {
	names, bind := p.targets()
	if len(names) == 1 && p.eat(tOp, ".") {
		attr := p.name()
		bind = func(c *scope, v any) {
			d, ok := c.get(names[0]).(*Dict)
			if !ok {
				fail("%s is no namespace", names[0])
			}
			d.Set(attr, v)
		}
	}
	if p.eat(tOp, "=") {
		value := p.tuple()
		p.done()
		return func(c *scope) jump { bind(c, value(c)); return "" }
	}
	apply := p.filters(func(_ *scope, v any) any { return v })
	body := p.until("endset")
	return func(c *scope) jump {
		in := c.child(c.depth + 1)
		bind(c, apply(in, in.capture(body)))
		return ""
	}
}

// parameters are those of a macro.
type parameters struct {
	names    []string
	defaults []expr
}

// parameters parses parameters up to the closing parenthesis.
func (p *parser) parameters() (q parameters) {
	for !p.eat(tOp, ")") {
		if len(q.names) > 0 {
			p.want(",")
		}
		name := p.name()
		value := expr(func(*scope) any { return undefined(name) })
		if p.eat(tOp, "=") {
			value = p.expr()
		}
		q.names, q.defaults = append(q.names, name), append(q.defaults, value)
	}
	return q
}

// function makes a function of a body in a scope.
func (q parameters) function(at *scope, body stmt) function {
	return func(a *arguments) any {
		in := at.child(a.from.depth + 1)
		for i, name := range q.names {
			v, ok := a.lookup(i, name)
			if !ok {
				v = q.defaults[i](in)
			}
			in.vars[name] = v
		}
		if v, ok := a.named["caller"]; ok {
			in.vars["caller"] = v
		}
		return in.capture(body)
	}
}

func (p *parser) macro() stmt {
	name := p.name()
	p.want("(")
	params := p.parameters()
	body := p.until("endmacro")
	return func(c *scope) jump {
		c.vars[name] = params.function(c, body)
		return ""
	}
}

// callerVar has the block of a call tag in the scope of its expression. No name of a template has a space.
const callerVar = "call block"

// call parses a block that the macro gets as its caller.
func (p *parser) call() stmt {
	var params parameters
	if p.eat(tOp, "(") {
		params = p.parameters()
	}
	e := p.expr()
	body := p.until("endcall")
	return func(c *scope) jump {
		in := c.child(c.depth + 1)
		in.vars[callerVar] = params.function(c, body)
		c.out.WriteString(str(e(in)))
		return ""
	}
}
