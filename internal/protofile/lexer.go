package protofile

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end kind = iota // of the file, or of what can be read of it
	ident
	integer
	float
	text // a string; the token's text is what stands between the quotes, without escapes
	symbol
)

// token is a word of a file.
type token struct {
	kind kind
	text string
	at   place
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end of the file"
	case text:
		return "the string " + strconv.Quote(t.text)
	default:
		return strconv.Quote(t.text)
	}
}

// lexer cuts a file into tokens.
type lexer struct {
	in   []byte
	pos  int
	line int // from 0
	bol  int // where the line begins
}

func (l *lexer) place() place { return place{l.line + 1, l.pos - l.bol + 1} }

// next returns the next token, or what is wrong.
func (l *lexer) next() (token, string) {
	if wrong := l.space(); wrong != "" {
		return token{at: l.place()}, wrong
	}
	at := l.place()
	if l.pos == len(l.in) {
		return token{at: at}, ""
	}
	c := l.in[l.pos]
	switch {
	case letter(c):
		return token{ident, l.while(func(c byte) bool { return letter(c) || digit(c) }), at}, ""
	case digit(c), c == '.' && l.pos+1 < len(l.in) && digit(l.in[l.pos+1]):
		return l.number(at)
	case c == '"' || c == '\'':
		s, wrong := l.quoted(c)
		return token{text, s, at}, wrong
	case bytes.IndexByte([]byte(";,.=()[]{}<>-+:/"), c) >= 0:
		l.pos++
		return token{symbol, string(c), at}, ""
	default:
		r, _ := utf8.DecodeRune(l.in[l.pos:])
		return token{at: at}, strconv.QuoteRune(r) + " cannot stand here"
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) while(ok func(byte) bool) string {
	from := l.pos
	for l.pos < len(l.in) && ok(l.in[l.pos]) {
		l.pos++
	}
	return string(l.in[from:l.pos])
}

// space reads over white space and comments.
func (l *lexer) space() string {
	for l.pos < len(l.in) {
		switch c := l.in[l.pos]; {
		case c == '\n':
			l.pos++
			l.line++
			l.bol = l.pos
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			l.pos++
		case bytes.HasPrefix(l.in[l.pos:], []byte("//")):
			l.while(func(c byte) bool { return c != '\n' })
		case bytes.HasPrefix(l.in[l.pos:], []byte("/*")):
			n := bytes.Index(l.in[l.pos+2:], []byte("*/"))
			if n < 0 {
				return "this comment has no end: close it with */"
			}
			comment := l.in[l.pos : l.pos+n+4]
			if lines := bytes.Count(comment, []byte("\n")); lines > 0 {
				l.line += lines
				l.bol = l.pos + bytes.LastIndexByte(comment, '\n') + 1
			}
			l.pos += len(comment)
		case l.pos == 0 && bytes.HasPrefix(l.in, []byte("\ufeff")):
			l.pos += len("\ufeff")
			l.bol = l.pos
		default:
			return ""
		}
	}
	return ""
}

// number reads an integer or a floating-point number. A sign is a token of its own.
func (l *lexer) number(at place) (token, string) {
	s := l.while(func(c byte) bool { return letter(c) || digit(c) || c == '.' })
	if last := s[len(s)-1]; last|0x20 == 'e' && !strings.HasPrefix(strings.ToLower(s), "0x") && l.pos < len(l.in) && (l.in[l.pos] == '-' || l.in[l.pos] == '+') {
		sign := string(l.in[l.pos])
		l.pos++
		s += sign + l.while(digit)
	}
	if strings.Contains(s, "_") {
		return token{at: at}, strconv.Quote(s) + " is not a number"
	}
	octal := len(s) > 1 && s[0] == '0' && strings.Trim(s, "01234567") == ""
	hex := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
	switch {
	case octal, hex, strings.Trim(s, "0123456789") == "" && (s == "0" || s[0] != '0'):
		if _, err := strconv.ParseUint(s, 0, 64); err == nil {
			return token{integer, s, at}, ""
		}
		if hex {
			return token{at: at}, strconv.Quote(s) + " is not a number of 64 bits"
		}
	case strings.Trim(s, "0123456789") == "":
		return token{at: at}, strconv.Quote(s) + " is not an octal number, which the 0 at its beginning makes it"
	}
	if strings.ContainsAny(s, "xXpP") {
		return token{at: at}, strconv.Quote(s) + " is not a number"
	}
	if _, err := strconv.ParseFloat(s, 64); err != nil && !strings.Contains(err.Error(), "range") {
		return token{at: at}, strconv.Quote(s) + " is not a number"
	}
	return token{float, s, at}, ""
}

// quoted reads a string.
func (l *lexer) quoted(quote byte) (string, string) {
	var out []byte
	for l.pos++; l.pos < len(l.in); l.pos++ {
		switch c := l.in[l.pos]; c {
		case quote:
			l.pos++
			return string(out), ""
		case '\n', 0:
			return "", "this string does not end on its line"
		case '\\':
			var ok bool
			if out, ok = l.escape(out); !ok {
				return "", "the escape in this string is not one"
			}
		default:
			out = append(out, c)
		}
	}
	return "", "this string has no end"
}

// escape reads what follows a backslash, and stays on its last byte.
func (l *lexer) escape(out []byte) ([]byte, bool) {
	l.pos++
	if l.pos == len(l.in) {
		return nil, false
	}
	c := l.in[l.pos]
	if i := strings.IndexByte(`abfnrtv\'"?`, c); i >= 0 {
		return append(out, "\a\b\f\n\r\t\v\\'\"?"[i]), true
	}
	switch {
	case c >= '0' && c <= '7':
		v, ok := l.code(l.pos, 1, 3, 8)
		return append(out, byte(v)), ok && v < 256
	case c == 'x' || c == 'X':
		v, ok := l.code(l.pos+1, 1, 2, 16)
		return append(out, byte(v)), ok
	case c == 'u':
		v, ok := l.code(l.pos+1, 4, 4, 16)
		return utf8.AppendRune(out, rune(v)), ok
	case c == 'U':
		v, ok := l.code(l.pos+1, 8, 8, 16)
		return utf8.AppendRune(out, rune(v)), ok && v <= utf8.MaxRune
	}
	return nil, false
}

// code reads the digits of an escape, at least and at most so many.
func (l *lexer) code(from, least, most, base int) (uint64, bool) {
	to := from
	for to < len(l.in) && to-from < most {
		if _, err := strconv.ParseUint(string(l.in[to]), base, 8); err != nil {
			break
		}
		to++
	}
	if to-from < least {
		return 0, false
	}
	v, err := strconv.ParseUint(string(l.in[from:to]), base, 32)
	l.pos = to - 1
	return v, err == nil
}
