// Package jinja renders the chat templates of language models: the part of Jinja that they use, by the rules that the
// transformers package sets (trim_blocks, lstrip_blocks, loop controls, its tojson and helpers). Values are plain Go
// values; *List and *Dict are Python's, so that templates can change them. A template is parsed into Go functions, one
// for each statement and expression.
package jinja

import (
	"fmt"
	"maps"
	"strings"
)

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	body    stmt
	filters map[string]filter
	tests   map[string]test
}

// expr is an expression.
type expr func(c *scope) any

// stmt is a statement. It returns the jump that a loop around it must do.
type stmt func(c *scope) jump

// jump is break or continue.
type jump string

// scope is a level of names.
type scope struct {
	vars  map[string]any
	up    *scope
	depth int
	*state
}

// state is what a rendering has once.
type state struct {
	*Template
	out   *strings.Builder
	line  int // of the tag that runs
	steps int
}

// The limits of one rendering, so that a broken template ends.
const (
	maxSteps = 1_000_000
	maxDepth = 500
)

func (c *scope) get(name string) any {
	for s := c; s != nil; s = s.up {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined(name)
}

// child is a level below, at a depth of calls.
func (c *scope) child(depth int) *scope {
	if depth > maxDepth {
		fail("the template calls itself too often")
	}
	return &scope{vars: map[string]any{}, up: c, depth: depth, state: c.state}
}

func (s *state) step() {
	if s.steps++; s.steps > maxSteps {
		fail("the template does not end")
	}
}

// capture renders a body into a string.
func (c *scope) capture(body stmt) string {
	out := c.out
	c.out = &strings.Builder{}
	body(c)
	text := c.out.String()
	c.out = out
	return text
}

// Render renders the template with variables: values of FromJSON.
func (t *Template) Render(vars map[string]any) (s string, err error) {
	st := &state{Template: t, out: &strings.Builder{}}
	defer func() {
		if err = recovered(recover(), st.line); err != nil {
			s = ""
		}
	}()
	base := &scope{vars: builtins(), state: st}
	maps.Copy(base.vars, vars)
	t.body(base.child(0))
	return st.out.String(), nil
}

// failure is an error on the way, which Render and Parse return.
type failure struct{ err error }

// fail ends the rendering.
func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// recovered is the error of a panic, with the line of the tag that failed. An error that the template raises has no line.
func recovered(r any, line int) error {
	f, ok := r.(failure)
	switch {
	case r == nil:
		return nil
	case !ok:
		panic(r)
	case is[raised](f.err):
		return f.err
	}
	return fmt.Errorf("line %d: %w", line, f.err)
}
