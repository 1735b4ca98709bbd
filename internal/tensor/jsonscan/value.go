package jsonscan

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"
)

// Value is the text of one checked JSON value, without white space around it. The zero Value is not a value.
type Value []byte

// Kind is the type of a value.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Kind tells what v is.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return None
	}
	switch v[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		return Number
	}
}

// Elements yields the elements of an array, and nothing for any other kind.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		rest := v[1:]
		for {
			rest = rest[spaces(rest):]
			if rest[0] == ']' {
				return
			}
			n := length(rest)
			if !yield(rest[:n:n]) {
				return
			}
			rest = rest[n:]
			rest = rest[spaces(rest):]
			if rest[0] == ',' {
				rest = rest[1:]
			}
		}
	}
}

// Members yields the names (still quoted and escaped) and values of an object, and nothing for any other kind.
func (v Value) Members() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		if v.Kind() != Object {
			return
		}
		rest := v[1:]
		for {
			rest = rest[spaces(rest):]
			if rest[0] == '}' {
				return
			}
			n := length(rest)
			name := rest[:n:n]
			rest = rest[n:]
			rest = rest[spaces(rest)+1:] // the colon
			rest = rest[spaces(rest):]
			n = length(rest)
			if !yield(name, rest[:n:n]) {
				return
			}
			rest = rest[n:]
			rest = rest[spaces(rest):]
			if rest[0] == ',' {
				rest = rest[1:]
			}
		}
	}
}

// Get finds the first member of that name.
func (v Value) Get(name string) (Value, bool) {
	for n, m := range v.Members() {
		if n.Is(name) {
			return m, true
		}
	}
	return nil, false
}

// Len is the number of elements of an array; 0 for any other kind.
func (v Value) Len() int {
	n := 0
	for range v.Elements() {
		n++
	}
	return n
}

// Is reports whether v is the string s.
func (v Value) Is(s string) bool {
	if v.Kind() != String {
		return false
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == s
	}
	return string(v.AppendText(nil)) == s
}

// AppendText appends the characters of a string, escapes resolved; nothing for any other kind.
func (v Value) AppendText(dst []byte) []byte {
	if v.Kind() != String {
		return dst
	}
	in := v[1 : len(v)-1]
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		in = in[i+1:]
		if b := plainEscape(in[0]); b != 0 {
			dst = append(dst, b)
			in = in[1:]
			continue
		}
		r, _ := hex4(in[1:])
		in = in[5:]
		if r >= 0xD800 && r <= 0xDBFF {
			low, _ := hex4(in[2:])
			r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
			in = in[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// True reports whether v is the literal true.
func (v Value) True() bool { return len(v) == 4 && v[0] == 't' }

// Uint64 is the value of a whole number in range, written without point or exponent.
func (v Value) Uint64() (uint64, bool) {
	i, ok := v.magnitude()
	if !ok || (v[0] == '-' && i != 0) {
		return 0, false
	}
	return i, true
}

// Int64 is the value of a whole number in range, written without point or exponent.
func (v Value) Int64() (int64, bool) {
	i, ok := v.magnitude()
	switch {
	case !ok:
		return 0, false
	case v[0] == '-':
		return -int64(i), i <= 1<<63
	default:
		return int64(i), i <= math.MaxInt64
	}
}

func (v Value) magnitude() (uint64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	digits := v
	if digits[0] == '-' {
		digits = digits[1:]
	}
	n := uint64(0)
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		d := uint64(b - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// Float64 is the value of any number, NaN and Inf included. One that is too large for a double is infinite.
func (v Value) Float64() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(bytes.TrimPrefix(v, minus)), 64)
	if v[0] == '-' {
		f = -f
	}
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

var minus = []byte{'-'} // ParseFloat knows Inf with a sign, but NaN only without

// Append appends v without the white space outside of its strings.
func (v Value) Append(dst []byte) []byte {
	for in := v; len(in) > 0; {
		n := spaces(in)
		in = in[n:]
		if len(in) == 0 {
			break
		}
		n = 1
		if in[0] == '"' {
			n = length(in)
		}
		dst = append(dst, in[:n]...)
		in = in[n:]
	}
	return dst
}

// length is the number of bytes of the checked value at the start of text.
func length(text []byte) int {
	switch text[0] {
	case '"':
		return quoted(text)
	case '{', '[':
		depth := 0
		for i := 0; ; {
			switch text[i] {
			case '"':
				i += quoted(text[i:])
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			i++
			if depth == 0 {
				return i
			}
		}
	}
	for i, b := range text {
		switch b {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return len(text)
}

// quoted is the length of the string at the start of text, quotes included.
func quoted(text []byte) int {
	i := 1
	for {
		i += bytes.IndexByte(text[i:], '"')
		back := i
		for text[back-1] == '\\' {
			back--
		}
		i++
		if (i-1-back)%2 == 0 {
			return i
		}
	}
}

func spaces(text []byte) int {
	for i, b := range text {
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return i
		}
	}
	return len(text)
}

// plainEscape is what a backslash and b stand for; 0 when that is not an escape of one letter.
func plainEscape(b byte) byte {
	switch b {
	case '"', '\\', '/':
		return b
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

func hex4(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	r := rune(0)
	for _, b := range text[:4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}
