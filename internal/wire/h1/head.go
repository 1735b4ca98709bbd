package h1

import "bytes"

// span is a part of the head, by offsets, so that it survives a buffer that moves.
type span struct{ a, b int }

// info is what a head says, as far as we care.
type info struct {
	status  int
	length  int64 // -1: not given
	number  int64 // -1: not given
	chunked bool
	minor   byte // of the version
	keep    bool // Connection: keep-alive
	shut    bool // Connection: close
	close   bool // what follows from the three above
	ctype   span
	cenc    span
	retry   span
}

const proto = "HTTP/1."

// likeHTTP tells whether b can be the beginning of an HTTP/1.x reply.
func likeHTTP(b []byte) bool {
	n := min(len(b), len(proto))
	return string(b[:n]) == proto[:n]
}

// parseHead reads a head with its empty line. number is the name of a further header, in lower case.
func parseHead(b []byte, number string) (info, error) {
	in := info{length: -1, number: -1}
	i := bytes.IndexByte(b, '\n')
	if err := in.statusLine(b[:i+1]); err != nil {
		return in, err
	}
	for at := i + 1; ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 1 || b[at+n-1] != '\r' {
			return in, malformed("a line does not end with CRLF")
		}
		line := b[at : at+n-1]
		if len(line) == 0 {
			return in, in.settle()
		}
		colon, v, ok := field(line)
		if !ok {
			return in, malformed("a bad header line")
		}
		v.a, v.b = v.a+at, v.b+at
		if err := in.header(line[:colon], b, v, number); err != nil {
			return in, err
		}
		at += n + 1
	}
}

// settle applies the rules that look at more than one header.
func (in *info) settle() error {
	in.close = in.shut || in.minor == 0 && !in.keep
	switch {
	case in.chunked && in.length >= 0:
		return malformed("both Content-Length and Transfer-Encoding")
	case in.status < 200 || in.status == 204 || in.status == 304:
		in.length, in.chunked = 0, false // such replies have no body, whatever their headers say
	}
	return nil
}

// statusLine reads "HTTP/1.1 200 OK\r\n".
func (in *info) statusLine(b []byte) error {
	const end = len("HTTP/1.1 200")
	if len(b) < end+2 || !likeHTTP(b) || b[len(b)-2] != '\r' {
		return malformed("a bad status line")
	}
	in.minor = b[7] - '0'
	if in.minor > 1 || b[8] != ' ' || b[end] != ' ' && b[end] != '\r' {
		return malformed("a bad status line")
	}
	code, ok := parseInt(b[9:end])
	if !ok || code < 100 || code > 599 {
		return malformed("a bad status code")
	}
	for _, c := range b[end : len(b)-2] {
		if !text(c) {
			return malformed("a bad status line")
		}
	}
	in.status = int(code)
	return nil
}

// header takes one header, whose value is v of the head b.
func (in *info) header(name, b []byte, v span, number string) error {
	value := b[v.a:v.b]
	switch {
	case is(name, "content-length"):
		n, ok := parseInt(value)
		if !ok || in.length >= 0 && in.length != n {
			return malformed("a bad Content-Length")
		}
		in.length = n
	case is(name, "transfer-encoding"):
		if !is(value, "chunked") || in.chunked {
			return malformed("a Transfer-Encoding other than chunked")
		}
		in.chunked = true
	case is(name, "connection"):
		for part := range bytes.SplitSeq(value, []byte{','}) {
			part = bytes.Trim(part, " \t")
			in.shut = in.shut || is(part, "close")
			in.keep = in.keep || is(part, "keep-alive")
		}
	case is(name, "content-type"):
		in.ctype = v
	case is(name, "content-encoding"):
		in.cenc = v
	case is(name, "retry-after"):
		in.retry = v
	case number != "" && is(name, number):
		n, ok := parseInt(value)
		if !ok || in.number >= 0 && in.number != n {
			return malformed("a bad " + number)
		}
		in.number = n
	}
	return nil
}

// field splits a header line: where the colon is, and where the value without the blanks around it.
func field(line []byte) (colon int, value span, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return 0, span{}, false
	}
	for _, c := range line[:i] {
		if !token[c] {
			return 0, span{}, false
		}
	}
	a, b := i+1, len(line)
	for a < b && (line[a] == ' ' || line[a] == '\t') {
		a++
	}
	for b > a && (line[b-1] == ' ' || line[b-1] == '\t') {
		b--
	}
	for _, c := range line[a:b] {
		if !text(c) {
			return 0, span{}, false
		}
	}
	return i, span{a, b}, true
}

// is compares without regard to case; lower must be in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// parseInt reads plain decimal digits.
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// text tells whether a byte may stand in a header's value or in a reason phrase.
func text(c byte) bool { return c >= ' ' && c != 0x7f || c == '\t' }

// token marks the bytes of header names.
var token = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()
