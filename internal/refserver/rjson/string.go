package rjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string; the text stands at its opening mark.
func (p *parser) str() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return string(p.text[start : p.at-1]), nil
		case c == '\\':
			return p.escaped(start)
		case c < 0x20:
			return "", p.control(c)
		default:
			p.at++
		}
	}
	return "", p.fail("Missing a closing quotation mark in string.", p.at)
}

func (p *parser) control(c byte) error {
	if c == 0 {
		return p.fail("Missing a closing quotation mark in string.", p.at)
	}
	return p.fail("Invalid encoding in string.", p.at)
}

// escaped reads on from the first backslash.
func (p *parser) escaped(start int) (string, error) {
	out := append([]byte(nil), p.text[start:p.at]...)
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '"':
			p.at++
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", p.control(c)
		default:
			out = append(out, c)
			p.at++
		}
	}
	return "", p.fail("Missing a closing quotation mark in string.", p.at)
}

const (
	plain = `"\/bfnrt`
	means = "\"\\/\b\f\n\r\t"
)

func (p *parser) escape(out []byte) ([]byte, error) {
	at := p.at
	p.at++
	c := p.peek()
	for i := range len(plain) {
		if plain[i] == c {
			p.at++
			return append(out, means[i]), nil
		}
	}
	if c != 'u' {
		return nil, p.fail("Invalid escape character in string.", at)
	}
	p.at++
	r, ok := p.hex()
	if !ok {
		return nil, p.fail("Incorrect hex digit after \\u escape in string.", at)
	}
	if r < 0xd800 || r > 0xdfff {
		return utf8.AppendRune(out, r), nil
	}
	if r > 0xdbff || p.peek() != '\\' || p.at+1 >= len(p.text) || p.text[p.at+1] != 'u' {
		return nil, p.fail("The surrogate pair in string is invalid.", at)
	}
	p.at += 2
	low, ok := p.hex()
	if !ok {
		return nil, p.fail("Incorrect hex digit after \\u escape in string.", at)
	}
	if low < 0xdc00 || low > 0xdfff {
		return nil, p.fail("The surrogate pair in string is invalid.", at)
	}
	return utf8.AppendRune(out, utf16.DecodeRune(r, low)), nil
}

func (p *parser) hex() (rune, bool) {
	if p.at+4 > len(p.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(p.text[p.at:p.at+4]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 4
	return rune(n), true
}
