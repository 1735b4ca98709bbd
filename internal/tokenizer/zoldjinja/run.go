package zoldjinja

import (
	"maps"
	"strings"
)

// scope is a level of names.
type scope struct {
	vars map[string]any
	up   *scope
}

func (s *scope) get(name string) (any, bool) {
	for ; s != nil; s = s.up {
		if v, ok := s.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

// context is the state of a rendering.
type context struct {
	*scope
	out    *strings.Builder
	jump   jump // break or continue, until the loop is reached
	stored any  // what a filter block filters
	depth  int
	steps  *int
}

// most limits the work of one rendering, so that a broken template ends.
const most = 1_000_000

func (c *context) child() *context {
	n := *c
	n.scope = &scope{vars: map[string]any{}, up: c.scope}
	if n.depth++; n.depth > 500 {
		fail(0, "the template calls itself too often")
	}
	return &n
}

func (c *context) run(body []stmt) {
	for _, s := range body {
		if *c.steps++; *c.steps > most {
			fail(0, "the template does not end")
		}
		if s.run(c); c.jump != "" {
			return
		}
	}
}

// capture renders a body into a string.
func (c *context) capture(body []stmt) string {
	out := c.out
	var b strings.Builder
	c.out = &b
	c.run(body)
	c.out = out
	return b.String()
}

// Render renders the template with variables: values of FromJSON.
func (t *Template) Render(vars map[string]any) (s string, err error) {
	defer catch(&err)
	steps := 0
	base := &scope{vars: builtins()}
	c := &context{scope: &scope{vars: map[string]any{}, up: base}, out: &strings.Builder{}, steps: &steps}
	maps.Copy(base.vars, vars)
	c.run(t.body)
	return c.out.String(), nil
}

type text string

func (s text) run(c *context) { c.out.WriteString(string(s)) }

type output struct{ e expr }

func (s *output) run(c *context) { c.out.WriteString(str(s.e.eval(c))) }

type discard struct{ e expr }

func (s *discard) run(c *context) { s.e.eval(c) }

type jump string

func (s jump) run(c *context) { c.jump = s }

type block []stmt

func (s block) run(c *context) { c.run(s) }

type ifStmt struct {
	tests     []expr
	bodies    [][]stmt
	otherwise []stmt
}

func (s *ifStmt) run(c *context) {
	for i, t := range s.tests {
		if truth(t.eval(c)) {
			c.run(s.bodies[i])
			return
		}
	}
	c.run(s.otherwise)
}

type forStmt struct {
	names           []string
	over, cond      expr
	body, otherwise []stmt
	recursive       bool
	line            int
}

func (s *forStmt) run(c *context) { s.loop(c, s.over.eval(c), 1) }

func (s *forStmt) loop(c *context, over any, depth int) {
	items := iterate(over, s.line)
	if s.cond != nil {
		var kept []any
		for _, it := range items {
			in := c.child()
			bind(in, s.names, it, s.line)
			if truth(s.cond.eval(in)) {
				kept = append(kept, it)
			}
		}
		items = kept
	}
	if len(items) == 0 {
		c.run(s.otherwise)
		return
	}
	for i, it := range items {
		if *c.steps++; *c.steps > most {
			fail(s.line, "the template does not end")
		}
		in := c.child()
		l := &loopValue{items: items, at: i, depth: depth}
		if s.recursive {
			l.again = func(v any) string {
				sub := in.child()
				var b strings.Builder
				sub.out = &b
				s.loop(sub, v, depth+1)
				return b.String()
			}
		}
		in.vars["loop"] = l
		bind(in, s.names, it, s.line)
		in.run(s.body)
		if in.jump == "break" {
			return
		}
	}
}

// bind gives names their values.
func bind(c *context, names []string, v any, line int) {
	if len(names) == 1 {
		c.vars[names[0]] = v
		return
	}
	parts := iterate(v, line)
	if len(parts) != len(names) {
		fail(line, "%d values for %d names", len(parts), len(names))
	}
	for i, n := range names {
		c.vars[n] = parts[i]
	}
}

type setStmt struct {
	names   []string
	attr    string // of a namespace
	value   expr
	body    []stmt
	filters expr
	stored  stored
	line    int
}

func (s *setStmt) run(c *context) {
	var v any
	if s.value != nil {
		v = s.value.eval(c)
	} else {
		in := c.child()
		v = in.capture(s.body)
		if s.filters != nil {
			in.stored = v
			v = s.filters.eval(in)
		}
	}
	if s.attr == "" {
		bind(c, s.names, v, s.line)
		return
	}
	ns, _ := c.get(s.names[0])
	d, ok := ns.(*Dict)
	if !ok {
		fail(s.line, "%s is no namespace", s.names[0])
	}
	d.Set(s.attr, v)
}

// stored is the text that filters of a block start from.
type stored struct{}

func (*stored) eval(c *context) any { return c.stored }

type filterBlock struct {
	filters expr
	body    []stmt
}

func (s *filterBlock) run(c *context) {
	in := c.child()
	in.stored = in.capture(s.body)
	c.out.WriteString(str(s.filters.eval(in)))
}

type param struct {
	name  string
	value expr
}

type macroStmt struct {
	name   string
	params []param
	body   []stmt
}

func (s *macroStmt) run(c *context) { c.vars[s.name] = macro(c, s.params, s.body) }

// macro makes a function of a body.
func macro(at *context, params []param, body []stmt) function {
	return func(a *arguments) any {
		in := at.child()
		if a.from != nil {
			in.depth = a.from.depth + 1
		}
		if in.depth > 500 {
			fail(0, "the template calls itself too often")
		}
		for i, p := range params {
			switch v, ok := a.named[p.name]; {
			case i < len(a.list):
				in.vars[p.name] = a.list[i]
			case ok:
				in.vars[p.name] = v
			case p.value != nil:
				in.vars[p.name] = p.value.eval(in)
			default:
				in.vars[p.name] = undefined(p.name)
			}
		}
		if v, ok := a.named["caller"]; ok {
			in.vars["caller"] = v
		}
		return in.capture(body)
	}
}

type callBlock struct {
	params []param
	call   *callExpr
	body   []stmt
}

func (s *callBlock) run(c *context) {
	a := s.call.arguments(c)
	a.named["caller"] = macro(c, s.params, s.body)
	c.out.WriteString(str(s.call.do(c, s.call.fn.eval(c), a)))
}
