package endpoint

import "bytes"

// scan reads one JSON text. It reads the requested members, skips and checks the rest, and allocates nothing. After the first
// error bad is set, and every method returns at once.
type scan struct {
	b   []byte
	i   int
	bad bool
}

// maxDepth limits nesting, so that no response can exhaust the stack.
const maxDepth = 512

func (s *scan) fail() { s.bad = true }

// peek returns the next byte that is not a space; 0 at the end.
func (s *scan) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// open enters an object or an array; if the value is something else, it skips it and returns false.
func (s *scan) open(bracket byte) bool {
	if s.bad {
		return false
	}
	if s.peek() != bracket {
		s.skip()
		return false
	}
	s.i++
	return true
}

// more reports whether member or element n follows, and leaves the object or array otherwise.
func (s *scan) more(closing byte, n int) bool {
	if s.bad {
		return false
	}
	c := s.peek()
	if c == closing {
		s.i++
		return false
	}
	if n > 0 {
		if c != ',' {
			s.fail()
			return false
		}
		s.i++
		s.peek()
	}
	return true
}

// members yields the name of each member of an object. It skips the values that the loop does not read, and a value that is not an object.
func (s *scan) members(yield func(name []byte) bool) {
	if !s.open('{') {
		return
	}
	for n := 0; s.more('}', n); n++ {
		name, value := s.key(), s.i
		if !yield(name) {
			return
		}
		if s.i == value {
			s.skip()
		}
	}
}

// elements stops before each element of an array, which the loop reads. It skips a value that is not an array.
func (s *scan) elements(yield func() bool) {
	if !s.open('[') {
		return
	}
	for n := 0; s.more(']', n) && yield(); n++ {
	}
}

// key reads the name of a member, without its quotes, and the colon. It does not decode escapes: no name that we need has any.
func (s *scan) key() []byte {
	q := s.quoted()
	if s.bad || s.peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	return q[1 : len(q)-1]
}

// str reads a string with its quotes; if the value is something else, it skips it and returns nil.
func (s *scan) str() []byte {
	if s.bad {
		return nil
	}
	if s.peek() != '"' {
		s.skip()
		return nil
	}
	return s.quoted()
}

// quoted reads a string with its quotes.
func (s *scan) quoted() []byte {
	if s.bad || s.peek() != '"' {
		s.fail()
		return nil
	}
	from := s.i
	for i := from + 1; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			return s.b[from:s.i]
		case c == '\\':
			n := escape(s.b[i:])
			if n == 0 {
				s.fail()
				return nil
			}
			i += n - 1
		case c < ' ':
			s.fail()
			return nil
		}
	}
	s.fail()
	return nil
}

// escape returns the length of the escape at the start of b; 0 if there is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// number reads a whole number; if the value is something else, it skips it and ok is false.
func (s *scan) number() (n int, ok bool) {
	if s.bad {
		return 0, false
	}
	s.peek()
	from := s.i
	s.skip()
	if s.bad {
		return 0, false
	}
	text := s.b[from:s.i]
	if len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(text) > 0
}

// boolean reads true or false.
func (s *scan) boolean() bool {
	s.peek()
	from := s.i
	s.skip()
	return !s.bad && s.b[from] == 't'
}

// value returns the bytes of any value.
func (s *scan) value() []byte {
	s.peek()
	from := s.i
	s.skip()
	if s.bad {
		return nil
	}
	return s.b[from:s.i]
}

// skip skips one value.
func (s *scan) skip() { s.walk(0) }

func (s *scan) walk(depth int) {
	if s.bad || depth > maxDepth {
		s.fail()
		return
	}
	switch c := s.peek(); c {
	case '"':
		s.quoted()
	case '{':
		s.i++
		for n := 0; s.more('}', n); n++ {
			s.key()
			s.walk(depth + 1)
		}
	case '[':
		s.i++
		for n := 0; s.more(']', n); n++ {
			s.walk(depth + 1)
		}
	case 't':
		s.word("true")
	case 'f':
		s.word("false")
	case 'n':
		s.word("null")
	default:
		s.numeral()
	}
}

func (s *scan) word(w string) {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		s.fail()
		return
	}
	s.i += len(w)
}

// numeral skips a number: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scan) numeral() {
	if s.at('-') {
		s.i++
	}
	switch {
	case s.at('0'):
		s.i++
	case !s.digits():
		s.fail()
		return
	}
	if s.at('.') {
		s.i++
		if !s.digits() {
			s.fail()
		}
	}
	if s.at('e') || s.at('E') {
		s.i++
		if s.at('+') || s.at('-') {
			s.i++
		}
		if !s.digits() {
			s.fail()
		}
	}
}

func (s *scan) at(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

func (s *scan) digits() bool {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

// end reports whether the text was one JSON value and nothing else.
func (s *scan) end() bool { return !s.bad && s.peek() == 0 && s.i == len(s.b) }
