package zoldjinja

import (
	"slices"
	"strconv"
	"strings"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct{ body []stmt }

// Parse parses a template.
func Parse(src string) (t *Template, err error) {
	defer catch(&err)
	p := &parser{parts: lex(src)}
	body, _ := p.body()
	return &Template{body}, nil
}

func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

// stmt is a statement.
type stmt interface{ run(c *context) }

type parser struct {
	parts []part
	at    int
	toks  []token
	pos   int
	line  int
	depth int
}

// body parses statements up to a tag with one of the names, which is consumed up to its name.
func (p *parser) body(ends ...string) ([]stmt, string) {
	if p.depth++; p.depth > 200 {
		fail(p.line, "tags are nested too deep")
	}
	defer func() { p.depth-- }()
	var list []stmt
	for p.at < len(p.parts) {
		part := p.parts[p.at]
		p.at++
		switch part.kind {
		case 't':
			list = append(list, text(part.text))
			continue
		case 'v':
			p.open(part)
			e := p.tuple()
			p.done()
			list = append(list, &output{e})
			continue
		}
		p.open(part)
		name := p.name()
		if slices.Contains(ends, name) {
			return list, name
		}
		list = append(list, p.statement(name))
	}
	if len(ends) > 0 {
		fail(p.line, "%s is missing", strings.Join(ends, " or "))
	}
	return list, ""
}

// block parses the end of a tag, and statements up to the tag that ends the block.
func (p *parser) block(end string) []stmt {
	p.done()
	body, _ := p.body(end)
	p.done()
	return body
}

func (p *parser) open(part part) { p.toks, p.pos, p.line = part.tokens, 0, part.line }

func (p *parser) done() {
	if p.pos < len(p.toks) {
		fail(p.line, "unexpected %q", p.toks[p.pos].text)
	}
}

func (p *parser) peek() token {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return token{kind: tEnd, line: p.line}
}

func (p *parser) is(kind tokenKind, text string) bool {
	t := p.peek()
	return t.kind == kind && t.text == text
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
		fail(p.line, "%q is missing before %q", op, p.peek().text)
	}
}

func (p *parser) name() string {
	t := p.peek()
	if t.kind != tName {
		fail(p.line, "a name is missing before %q", t.text)
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
		return jump(name)
	case "generation": // marks the model's own text; it changes nothing
		return block(p.block("endgeneration"))
	case "filter":
		first := &filterExpr{name: p.name(), call: &callExpr{fn: &stored{}, line: p.line}}
		if p.eat(tOp, "(") {
			p.args(first.call)
		}
		return &filterBlock{filters: p.filters(first), body: p.block("endfilter")}
	case "call":
		return p.call()
	case "do":
		e := p.tuple()
		p.done()
		return &discard{e}
	}
	fail(p.line, "unknown tag %q", name)
	return nil
}

func (p *parser) ifs() stmt {
	s := &ifStmt{}
	for {
		test := p.tuple()
		p.done()
		body, end := p.body("elif", "else", "endif")
		s.tests, s.bodies = append(s.tests, test), append(s.bodies, body)
		if end == "elif" {
			continue
		}
		if end == "else" {
			s.otherwise = p.block("endif")
		} else {
			p.done()
		}
		return s
	}
}

func (p *parser) loop() stmt {
	s := &forStmt{line: p.line}
	s.names = p.targets()
	if !p.eat(tName, "in") {
		fail(p.line, "for without in")
	}
	s.over = p.tupleOf(p.orTest)
	if p.eat(tName, "if") {
		s.cond = p.expr()
	}
	s.recursive = p.eat(tName, "recursive")
	p.done()
	var end string
	s.body, end = p.body("else", "endfor")
	if end == "else" {
		s.otherwise = p.block("endfor")
	} else {
		p.done()
	}
	return s
}

// targets are the names that a loop or an assignment fills.
func (p *parser) targets() []string {
	paren := p.eat(tOp, "(")
	names := []string{p.name()}
	for p.eat(tOp, ",") {
		names = append(names, p.name())
	}
	if paren {
		p.want(")")
	}
	return names
}

func (p *parser) set() stmt {
	s := &setStmt{line: p.line}
	s.names = p.targets()
	if len(s.names) == 1 && p.eat(tOp, ".") {
		s.attr = p.name()
	}
	if p.eat(tOp, "=") {
		s.value = p.tuple()
		p.done()
		return s
	}
	if p.is(tOp, "|") {
		s.filters = p.filters(&s.stored)
	}
	s.body = p.block("endset")
	return s
}

func (p *parser) macro() stmt {
	s := &macroStmt{name: p.name()}
	p.want("(")
	s.params = p.params()
	s.body = p.block("endmacro")
	return s
}

// params are the parameters of a macro up to the closing parenthesis.
func (p *parser) params() []param {
	var list []param
	for !p.eat(tOp, ")") {
		if len(list) > 0 {
			p.want(",")
		}
		q := param{name: p.name()}
		if p.eat(tOp, "=") {
			q.value = p.expr()
		}
		list = append(list, q)
	}
	return list
}

func (p *parser) call() stmt {
	s := &callBlock{}
	if p.eat(tOp, "(") {
		s.params = p.params()
	}
	e, ok := p.expr().(*callExpr)
	if !ok {
		fail(p.line, "call needs a call")
	}
	s.call = e
	s.body = p.block("endcall")
	return s
}

// escapes are the characters that a backslash and a letter stand for.
var escapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'b': '\b', 'a': '\a', '0': 0, '\\': '\\', '\'': '\'', '"': '"',
}

// unescape reads the escapes of a Python string.
func unescape(s string, line int) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if plain, ok := escapes[s[i]]; ok {
			b.WriteByte(plain)
			continue
		}
		switch c := s[i]; c {
		case '\n':
		case 'x', 'u', 'U':
			n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			if i+n >= len(s)+0 && i+n > len(s)-1 {
				fail(line, "an escape ends too early")
			}
			r, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			if err != nil {
				fail(line, "\\%c%s is no character", c, s[i+1:i+1+n])
			}
			b.WriteRune(rune(r))
			i += n
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}
