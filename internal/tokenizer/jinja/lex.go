package jinja

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The kinds of tokens within tags.
type tokenKind uint8

const (
	tEnd tokenKind = iota
	tName
	tNumber
	tString
	tOp
)

type token struct {
	kind tokenKind
	text string
}

// part is a piece of a template: text, or the tokens of a tag.
type part struct {
	kind   byte // 't' text, '{' {{ }}, '%' {% %}
	text   string
	tokens []token
	line   int
}

// lexer cuts a template into parts.
type lexer struct {
	src   string
	pos   int
	line  *int // of the tag
	parts []part
	forms [tOp + 1]*regexp.Regexp
	raw   *regexp.Regexp
}

const space = " \t\n\r\f\v"

func lex(src string, line *int) []part {
	// One line end at the very end is not part of the template.
	l := &lexer{
		line: line,
		src:  strings.TrimSuffix(strings.ReplaceAll(src, "\r\n", "\n"), "\n"),
		raw:  regexp.MustCompile(`^(?s:{%[-+]?\s*raw\s*(-?)%}(.*?){%[-+]?\s*endraw\s*[-+]?%})`),
		forms: [...]*regexp.Regexp{
			tName: regexp.MustCompile(`^[\pL_][\pL\pM\pN_]*`), tNumber: regexp.MustCompile(`^[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?`),
			tString: regexp.MustCompile(`^(?s:'(\\.|[^'\\])*'|"(\\.|[^"\\])*")`), tOp: regexp.MustCompile(`^(==|!=|<=|>=|//|\*\*|[()\[\]{}.,:|+*/%~<>=-])`),
		},
	}
	for l.pos < len(l.src) {
		l.next()
	}
	return l.parts
}

// next reads the text up to a tag, and the tag.
func (l *lexer) next() {
	start := l.pos
	at := start
	for at < len(l.src) && (l.src[at] != '{' || at+1 == len(l.src) || !strings.Contains("{%#", l.src[at+1:at+2])) {
		at++
	}
	l.pos, *l.line = at, 1+strings.Count(l.src[:at], "\n")
	text := l.src[start:at]
	if at == len(l.src) {
		l.text(text)
		return
	}
	open := l.src[at+1]
	raw := l.raw.FindStringSubmatch(l.src[at:])
	l.pos += 2
	switch {
	case l.eat("-"):
		text = strings.TrimRight(text, space)
	case open == '{' || l.eat("+"):
	default:
		text = stripLine(text, start == 0 || l.src[start-1] == '\n')
	}
	l.text(text)
	switch {
	case raw != nil:
		body := strings.TrimPrefix(raw[2], "\n")
		if raw[1] == "-" {
			body = strings.TrimLeft(body, space)
		}
		l.text(body)
		l.pos = at + len(raw[0]) - len("%}")
		l.close(true)
	case open == '#':
		n := strings.Index(l.src[l.pos:], "#}")
		if n < 0 {
			fail("a comment has no end")
		}
		l.pos += n
		l.close(true)
	case open == '{':
		l.tag(open, "}}")
	default:
		l.tag(open, "%}")
	}
}

func (l *lexer) eat(s string) bool {
	if !strings.HasPrefix(l.src[l.pos:], s) {
		return false
	}
	l.pos += len(s)
	return true
}

func (l *lexer) text(s string) {
	if s != "" {
		l.parts = append(l.parts, part{kind: 't', text: s})
	}
}

// stripLine takes off the white space between the start of the line and a block.
func stripLine(text string, fromStart bool) string {
	i := strings.LastIndexByte(text, '\n')
	if (i >= 0 || fromStart) && strings.TrimLeft(text[i+1:], " \t\f\v") == "" {
		return text[:i+1]
	}
	return text
}

// close moves behind the two characters that end a tag; block says that a line end behind them goes.
func (l *lexer) close(block bool) {
	sign := l.src[l.pos-1]
	l.pos += 2
	switch {
	case sign == '-':
		l.pos = len(l.src) - len(strings.TrimLeft(l.src[l.pos:], space))
	case block && sign != '+':
		l.eat("\n")
	}
}

// tag reads the tokens up to the end of a tag.
func (l *lexer) tag(kind byte, end string) {
	p := part{kind: kind, line: *l.line}
	for depth := 0; ; {
		l.pos = len(l.src) - len(strings.TrimLeft(l.src[l.pos:], space))
		rest := l.src[l.pos:]
		if rest == "" {
			fail("a tag has no end")
		}
		signed := strings.HasPrefix(rest, "-"+end) || kind == '%' && strings.HasPrefix(rest, "+"+end)
		if depth == 0 && (signed || strings.HasPrefix(rest, end)) {
			if signed {
				l.pos++
			}
			l.parts = append(l.parts, p)
			l.close(kind == '%')
			return
		}
		t := l.token(rest)
		if t.kind == tOp {
			depth += strings.Count("([{", t.text) - strings.Count(")]}", t.text)
		}
		p.tokens = append(p.tokens, t)
	}
}

// token reads one token.
func (l *lexer) token(s string) token {
	for kind, form := range l.forms {
		if form == nil {
			continue
		}
		if text := form.FindString(s); text != "" {
			l.pos += len(text)
			if tokenKind(kind) == tString {
				text = unescape(text[1 : len(text)-1])
			}
			return token{tokenKind(kind), text}
		}
	}
	if s[0] == '\'' || s[0] == '"' {
		fail("a string has no end")
	}
	r, _ := utf8.DecodeRuneInString(s)
	fail("unexpected %q", r)
	return token{}
}

// unescape reads the escapes of a Python string. Unknown ones stay.
func unescape(s string) string {
	var b strings.Builder
	for s != "" {
		plain, rest, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if !found {
			break
		}
		r, _, after, err := strconv.UnquoteChar(`\`+rest, 0)
		switch {
		case rest != "" && strings.Contains(`'"`, rest[:1]):
			b.WriteByte(rest[0])
			rest = rest[1:]
		case rest != "" && rest[0] == '\n':
			rest = rest[1:]
		case err != nil && rest != "" && strings.Contains("xuU", rest[:1]):
			fail("\\%s is no character", rest)
		case err != nil:
			b.WriteByte('\\')
		default:
			b.WriteRune(r)
			rest = after
		}
		s = rest
	}
	return b.String()
}
