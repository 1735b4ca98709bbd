// Package jinja renders the chat templates of language models: the part of Jinja that they use, by the rules that the
// transformers package sets (trim_blocks, lstrip_blocks, loop controls, its tojson and helpers). Values are plain Go
// values; *List and *Dict are Python's, so that templates can change them.
package zoldjinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The kinds of tokens within tags.
type tokenKind uint8

const (
	tEnd tokenKind = iota
	tName
	tString
	tInt
	tFloat
	tOp
)

type token struct {
	kind tokenKind
	text string
	line int
}

// part is a piece of a template: text, or what stands in a tag.
type part struct {
	kind   byte // 't' text, 'v' {{ }}, 'b' {% %}
	text   string
	tokens []token
	line   int
}

// failure is an error on the way; Render and Parse turn it into a returned one.
type failure struct{ err error }

func fail(line int, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if line > 0 {
		err = fmt.Errorf("line %d: %w", line, err)
	}
	panic(failure{err})
}

// lexer cuts a template into parts.
type lexer struct {
	src   string
	pos   int
	line  int
	parts []part
}

func lex(src string) []part {
	// One line end at the very end is not part of the template.
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src, line: 1}
	for l.pos < len(src) {
		l.next()
	}
	return l.parts
}

// next reads the text up to a tag, and the tag.
func (l *lexer) next() {
	at := -1
	for i := l.pos; i+1 < len(l.src); i++ {
		if l.src[i] == '{' && strings.IndexByte("{%#", l.src[i+1]) >= 0 {
			at = i
			break
		}
	}
	if at < 0 {
		l.text(l.src[l.pos:])
		l.pos = len(l.src)
		return
	}
	text := l.src[l.pos:at]
	open := l.src[at+1]
	inner := at + 2
	switch {
	case strings.HasPrefix(l.src[inner:], "-"):
		text = strings.TrimRight(text, " \t\n\r\f\v")
		inner++
	case strings.HasPrefix(l.src[inner:], "+") && open != '{':
		inner++
	case open != '{':
		text = stripLine(text, l.pos == 0 || l.src[l.pos-1] == '\n')
	}
	l.textAt(text, l.src[l.pos:at])
	switch open {
	case '#':
		end := strings.Index(l.src[inner:], "#}")
		if end < 0 {
			fail(l.line, "a comment has no end")
		}
		l.lines(l.src[at : inner+end])
		l.after(inner+end, true)
	case '{':
		l.tag('v', inner, "}}")
	default:
		l.block(inner)
	}
}

// block reads {% %}; raw is a block of text.
func (l *lexer) block(inner int) {
	rest := strings.TrimLeft(l.src[inner:], " \t\n")
	if word, ok := strings.CutPrefix(rest, "raw"); ok && strings.TrimLeft(word, " -")[:min(2, len(strings.TrimLeft(word, " -")))] == "%}" {
		from := inner + strings.Index(l.src[inner:], "%}")
		l.after(from, true)
		body := l.src[l.pos:]
		for at := 0; ; {
			i := strings.Index(body[at:], "{%")
			if i < 0 {
				fail(l.line, "raw has no end")
			}
			at += i
			tag := strings.TrimLeft(body[at+2:], "-+ \t\n")
			if strings.HasPrefix(tag, "endraw") {
				l.text(body[:at])
				end := at + strings.Index(body[at:], "%}")
				l.after(l.pos+end, true)
				return
			}
			at += 2
		}
	}
	l.tag('b', inner, "%}")
}

// stripLine takes off the white space between the start of the line and a block.
func stripLine(text string, fromStart bool) string {
	i := strings.LastIndexByte(text, '\n')
	if i < 0 && !fromStart {
		return text
	}
	if strings.TrimLeft(text[i+1:], " \t\f\v") == "" {
		return text[:i+1]
	}
	return text
}

func (l *lexer) lines(s string) { l.line += strings.Count(s, "\n") }

func (l *lexer) text(s string) { l.textAt(s, s) }

func (l *lexer) textAt(s, whole string) {
	if s != "" {
		l.parts = append(l.parts, part{kind: 't', text: s, line: l.line})
	}
	l.lines(whole)
}

// after moves behind the end of a tag; block says that a line end behind it goes.
func (l *lexer) after(at int, block bool) {
	minus := at > 0 && l.src[at-1] == '-'
	plus := at > 0 && l.src[at-1] == '+'
	l.pos = at + 2
	switch {
	case minus:
		rest := strings.TrimLeft(l.src[l.pos:], " \t\n\r\f\v")
		end := len(l.src) - len(rest)
		l.lines(l.src[l.pos:end])
		l.pos = end
	case block && !plus && strings.HasPrefix(l.src[l.pos:], "\n"):
		l.pos++
		l.line++
	}
}

// tag reads the tokens up to the end of a tag.
func (l *lexer) tag(kind byte, at int, end string) {
	p := part{kind: kind, line: l.line}
	depth := 0
	for {
		for at < len(l.src) && strings.IndexByte(" \t\n\r", l.src[at]) >= 0 {
			if l.src[at] == '\n' {
				l.line++
			}
			at++
		}
		if at >= len(l.src) {
			fail(p.line, "a tag has no end")
		}
		rest := l.src[at:]
		if depth == 0 {
			signed := strings.HasPrefix(rest, "-"+end) || kind == 'b' && strings.HasPrefix(rest, "+"+end)
			if signed || strings.HasPrefix(rest, end) {
				if signed {
					at++
				}
				l.parts = append(l.parts, p)
				l.after(at, kind == 'b')
				return
			}
		}
		t, size := l.token(rest)
		switch t.text {
		case "(", "[", "{":
			if t.kind == tOp {
				depth++
			}
		case ")", "]", "}":
			if t.kind == tOp {
				depth--
			}
		}
		p.tokens = append(p.tokens, t)
		at += size
	}
}

// token reads one token.
func (l *lexer) token(s string) (token, int) {
	c := s[0]
	switch {
	case c == '"' || c == '\'':
		return l.quoted(s)
	case c >= '0' && c <= '9':
		return l.number(s)
	case nameByte(c):
		n := 1
		for n < len(s) && (nameByte(s[n]) || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		return token{tName, s[:n], l.line}, n
	}
	for _, op := range []string{"==", "!=", "<=", ">=", "//", "**"} {
		if strings.HasPrefix(s, op) {
			return token{tOp, op, l.line}, 2
		}
	}
	if strings.IndexByte("()[]{}.,:|+-*/%~<>=", c) < 0 {
		r, _ := utf8.DecodeRuneInString(s)
		fail(l.line, "unexpected %q", r)
	}
	return token{tOp, s[:1], l.line}, 1
}

func nameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (l *lexer) number(s string) (token, int) {
	n, kind := 0, tInt
	for n < len(s) {
		c := s[n]
		digit := c >= '0' && c <= '9' || c == '_'
		point := c == '.' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9' && kind == tInt
		power := (c == 'e' || c == 'E') && n+1 < len(s) && strings.IndexByte("0123456789+-", s[n+1]) >= 0
		if !digit && !point && !power {
			break
		}
		if point || power {
			kind = tFloat
		}
		if power {
			n++
		}
		n++
	}
	return token{kind, strings.ReplaceAll(s[:n], "_", ""), l.line}, n
}

func (l *lexer) quoted(s string) (token, int) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			t := token{tString, unescape(s[1:i], l.line), l.line}
			l.lines(s[:i])
			return t, i + 1
		}
	}
	fail(l.line, "a string has no end")
	return token{}, 0
}
