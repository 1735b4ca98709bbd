// Package jsonscan checks JSON text and walks it in place, without building a tree.
//
// The rules are those of RapidJSON, the parser that Triton and its clients use: plain JSON, and the number literals NaN,
// Inf and Infinity with an optional minus. Errors have the parser's error number and byte offset, because programs read them.
// Parse checks the whole text once; a Value is a part of checked text, so reading it cannot fail and copies nothing.
package jsonscan

import (
	"fmt"
	"strconv"
)

// Code says which rule the text breaks. The numbers are RapidJSON's.
type Code int

// The codes.
const (
	Empty         Code = 1 // nothing except white space
	Trailing      Code = 2 // something follows the value
	BadValue      Code = 3 // no value starts here
	MissingName   Code = 4 // an object member must start with a string
	MissingColon  Code = 5
	MissingBrace  Code = 6 // neither a comma nor a closing brace after a member
	MissingSquare Code = 7 // neither a comma nor a closing bracket after an element
	BadHex        Code = 8
	BadSurrogate  Code = 9
	BadEscape     Code = 10 // or a control character
	MissingQuote  Code = 11
	TooBig        Code = 13 // the number does not fit a double
	NoFraction    Code = 14
	NoExponent    Code = 15
)

var reasons = [...]string{
	Empty:         "the document is empty",
	Trailing:      "something follows the end of the document",
	BadValue:      "not a JSON value",
	MissingName:   "an object member needs a name in quotes",
	MissingColon:  "a colon must follow the name of an object member",
	MissingBrace:  "a comma or } must follow an object member",
	MissingSquare: "a comma or ] must follow an array element",
	BadHex:        "\\u must be followed by four hexadecimal digits",
	BadSurrogate:  "half of a surrogate pair",
	BadEscape:     "a control character or an unknown escape in a string",
	MissingQuote:  "the string has no closing quote",
	TooBig:        "the number is too big for a double",
	NoFraction:    "digits must follow the decimal point",
	NoExponent:    "digits must follow the exponent",
}

// SyntaxError is the first place where a text is not JSON.
type SyntaxError struct {
	Code   Code
	Offset int // in bytes from the start
}

func (e *SyntaxError) Error() string {
	reason := "unknown reason"
	if e.Code > 0 && int(e.Code) < len(reasons) {
		reason = reasons[e.Code]
	}
	return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, reason)
}

// Parse checks that text is exactly one JSON value and returns it. The Value refers to text.
func Parse(text []byte) (Value, error) {
	c := checker{text: text}
	c.space()
	if c.peek() == 0 {
		return nil, c.fail(Empty, c.pos)
	}
	start := c.pos
	if err := c.value(); err != nil {
		return nil, err
	}
	end := c.pos
	c.space()
	if c.peek() != 0 {
		return nil, c.fail(Trailing, c.pos)
	}
	return Value(text[start:end]), nil
}

// maxDigits is the decimal exponent of the largest double.
const maxDigits = 308

type checker struct {
	text []byte
	pos  int
}

// peek is the next byte, or 0 at the end. A NUL byte ends the text too, as it does for the parser we follow.
func (c *checker) peek() byte {
	if c.pos < len(c.text) {
		return c.text[c.pos]
	}
	return 0
}

func (c *checker) take(b byte) bool {
	if c.peek() == b {
		c.pos++
		return true
	}
	return false
}

func (c *checker) space() { c.pos += spaces(c.text[c.pos:]) }

func (c *checker) fail(code Code, at int) error { return &SyntaxError{Code: code, Offset: at} }

// value checks one value. Nesting is kept in a list and not on the call stack, so that depth costs one byte.
func (c *checker) value() error {
	var room [64]byte
	open := room[:0]
	for {
		var err error
		switch b := c.peek(); b {
		case '{', '[':
			c.pos++
			c.space()
			if c.take(b + 2) { // both brackets close two places after they open
				break
			}
			open = append(open, b)
			if err := c.name(b); err != nil {
				return err
			}
			continue
		case '"':
			err = c.str()
		case 't':
			err = c.word("true")
		case 'f':
			err = c.word("false")
		case 'n':
			err = c.word("null")
		default:
			err = c.number()
		}
		if err != nil {
			return err
		}
		if open, err = c.after(open); err != nil || len(open) == 0 {
			return err
		}
	}
}

// after closes the brackets that end behind a value, up to the comma before the next one.
func (c *checker) after(open []byte) ([]byte, error) {
	for len(open) > 0 {
		in := open[len(open)-1]
		c.space()
		switch {
		case c.take(','):
			c.space()
			return open, c.name(in)
		case c.take(in + 2):
			open = open[:len(open)-1]
		case in == '{':
			return nil, c.fail(MissingBrace, c.pos)
		default:
			return nil, c.fail(MissingSquare, c.pos)
		}
	}
	return open, nil
}

// name checks the name and colon of a member where the open bracket is a brace.
func (c *checker) name(in byte) error {
	if in != '{' {
		return nil
	}
	if c.peek() != '"' {
		return c.fail(MissingName, c.pos)
	}
	if err := c.str(); err != nil {
		return err
	}
	c.space()
	if !c.take(':') {
		return c.fail(MissingColon, c.pos)
	}
	c.space()
	return nil
}

func (c *checker) word(w string) error {
	for i := range len(w) {
		if !c.take(w[i]) {
			return c.fail(BadValue, c.pos)
		}
	}
	return nil
}

func (c *checker) str() error {
	c.pos++
	for {
		rest := c.text[c.pos:]
		n := 0
		for n < len(rest) && rest[n] != '"' && rest[n] != '\\' && rest[n] >= 0x20 {
			n++
		}
		c.pos += n
		switch c.peek() {
		case '"':
			c.pos++
			return nil
		case '\\':
			if err := c.escape(); err != nil {
				return err
			}
		case 0:
			return c.fail(MissingQuote, c.pos)
		default:
			return c.fail(BadEscape, c.pos)
		}
	}
}

func (c *checker) escape() error {
	start := c.pos
	c.pos++
	b := c.peek()
	if b != 'u' {
		if plainEscape(b) == 0 {
			return c.fail(BadEscape, start)
		}
		c.pos++
		return nil
	}
	c.pos++
	r, ok := c.hex()
	switch {
	case !ok:
		return c.fail(BadHex, start)
	case r < 0xD800 || r > 0xDBFF: // the second half of a pair is let through alone, the first is not
		return nil
	case !c.take('\\') || !c.take('u'):
		return c.fail(BadSurrogate, start)
	}
	low, ok := c.hex()
	if !ok {
		return c.fail(BadHex, start)
	}
	if low < 0xDC00 || low > 0xDFFF {
		return c.fail(BadSurrogate, start)
	}
	return nil
}

func (c *checker) hex() (rune, bool) {
	r, ok := hex4(c.text[c.pos:])
	if ok {
		c.pos += 4
	}
	return r, ok
}

func (c *checker) digits() bool {
	start := c.pos
	for c.pos < len(c.text) && c.text[c.pos]-'0' <= 9 {
		c.pos++
	}
	return c.pos > start
}

func (c *checker) number() error {
	start := c.pos
	c.take('-')
	switch b := c.peek(); {
	case b == '0':
		c.pos++
	case b >= '1' && b <= '9':
		c.digits()
	case b == 'N':
		return c.word("NaN")
	case b == 'I':
		if err := c.word("Inf"); err != nil || c.peek() != 'i' {
			return err
		}
		return c.word("inity")
	default:
		return c.fail(BadValue, c.pos)
	}
	// Only the digits before the point, and an exponent by itself, can be too big; their product may be infinite.
	if c.pos-start > maxDigits {
		if _, err := strconv.ParseFloat(string(c.text[start:c.pos]), 64); err != nil {
			return c.fail(TooBig, start)
		}
	}
	limit := maxDigits
	if c.take('.') {
		fraction := c.pos
		if !c.digits() {
			return c.fail(NoFraction, c.pos)
		}
		limit += c.pos - fraction
	}
	if c.take('e') || c.take('E') {
		return c.exponent(start, limit)
	}
	return nil
}

// exponent checks the digits of an exponent. One above the limit is too big, whatever it multiplies.
func (c *checker) exponent(start, limit int) error {
	if !c.take('+') && c.take('-') {
		if !c.digits() {
			return c.fail(NoExponent, c.pos)
		}
		return nil
	}
	first := c.pos
	if !c.digits() {
		return c.fail(NoExponent, c.pos)
	}
	n := 0
	for _, b := range c.text[first:c.pos] {
		if n = n*10 + int(b-'0'); n > limit {
			return c.fail(TooBig, start)
		}
	}
	return nil
}
