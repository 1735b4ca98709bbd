package h2

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// meta is what matters of a response's header block.
type meta struct {
	http     int // :status; 0 is none
	status   int // grpc-status; -1 is none
	message  string
	grpc     bool   // the content type is gRPC's
	ctype    string // where it is not
	coding   string // content-encoding
	retry    string // retry-after
	length   int64  // content-length; -1 is none
	encoding zip.Encoding
	bad      string // why the block is malformed; it fails the stream, not the connection
}

// metaReader unpacks header blocks. A server repeats the same few blocks for every answer: those that change
// no table are remembered by their bytes.
type metaReader struct {
	dec  *hpack.Decoder
	seen [4]seenBlock
	next int
	last meta // the block read last, where it is not one of those seen
}

type seenBlock struct {
	gen   uint64
	block []byte
	meta  meta
}

// seenLimit is the size up to which blocks are remembered; longer ones hold something that varies.
const seenLimit = 256

func (r *metaReader) init() { r.dec = hpack.NewDecoder() }

// read unpacks a block; the result is valid until the next one. An error is one of the connection.
func (r *metaReader) read(block []byte) (*meta, error) {
	gen := r.dec.Generation()
	for i := range r.seen {
		s := &r.seen[i]
		if s.gen == gen && len(s.block) > 0 && bytes.Equal(s.block, block) {
			return &s.meta, nil
		}
	}
	m := &r.last
	if err := r.unpack(block, m); err != nil {
		return nil, &neterr.Error{Kind: neterr.Malformed, Code: codeCompression, Text: "header compression", Err: err}
	}
	if len(block) <= seenLimit && r.dec.Generation() == gen {
		s := &r.seen[r.next]
		r.next = (r.next + 1) % len(r.seen)
		s.gen, s.block, s.meta = gen, append(s.block[:0], block...), *m
	}
	return m, nil
}

func (r *metaReader) unpack(block []byte, m *meta) error {
	*m = meta{status: -1, length: -1}
	fields, size := 0, 0
	r.dec.Reset(block)
	for {
		name, value, ok, err := r.dec.Next()
		if err != nil || !ok {
			return err
		}
		if size += len(name) + len(value) + 32; size > ourHeaderBytes {
			return fmt.Errorf("the fields take more than %d bytes", ourHeaderBytes)
		}
		m.field(name, value, fields > 0)
		if len(name) == 0 || name[0] != ':' {
			fields++
		}
	}
}

// field takes in one field; late is set once a regular field was seen.
func (m *meta) field(name, value []byte, late bool) {
	switch string(name) {
	case ":status":
		if late || m.http != 0 || len(value) != 3 {
			m.bad = "a misplaced or malformed :status"
			return
		}
		n, ok := number(value)
		if !ok || n < 100 {
			m.bad = "a malformed :status"
		}
		m.http = n
	case "content-type":
		rest, ok := bytes.CutPrefix(value, []byte("application/grpc"))
		if m.grpc = ok && (len(rest) == 0 || rest[0] == '+' || rest[0] == ';'); !m.grpc {
			m.ctype = string(value)
		}
	case "grpc-status":
		n, ok := number(value)
		if !ok {
			m.bad = "a malformed grpc-status"
			return
		}
		m.status = n
	case "grpc-message":
		m.message = unescape(value)
	case "grpc-encoding":
		m.encoding = zip.Parse(value)
	case "content-encoding":
		m.coding = string(value)
	case "retry-after":
		m.retry = string(value)
	case "content-length":
		m.setLength(value)
	case "connection", "transfer-encoding", "upgrade", "keep-alive", "proxy-connection":
		m.bad = "a header field of HTTP/1: " + string(name)
	default:
		if why := badName(name); why != "" {
			m.bad = why
		}
	}
}

func badName(name []byte) string {
	if len(name) == 0 {
		return "a header field without a name"
	}
	if name[0] == ':' {
		return fmt.Sprintf("the unknown pseudo header %q", name)
	}
	for _, b := range name {
		if b <= ' ' || b >= 0x7f || 'A' <= b && b <= 'Z' || b == ':' {
			return fmt.Sprintf("the header name %q", name)
		}
	}
	return ""
}

// number reads a short decimal number.
func number(b []byte) (int, bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	n := 0
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int(d-'0')
	}
	return n, true
}

// unescape undoes the percent encoding of grpc-message. What is not an escape stays as it is.
func unescape(b []byte) string {
	if bytes.IndexByte(b, '%') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) {
			hi, ok1 := hexDigit(b[i+1])
			lo, ok2 := hexDigit(b[i+2])
			if ok1 && ok2 {
				out = append(out, hi<<4|lo)
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

// headersIn takes a HEADERS frame, and the block in it when it is whole.
func (c *Conn) headersIn(h frameHeader, p []byte, at int64) error {
	if h.has(flagPadded) {
		rest, ok := unpad(p)
		if !ok {
			return violation(codeProtocol, "padding is longer than its frame")
		}
		p = rest
	}
	if h.has(flagPriority) {
		if len(p) < 5 {
			return violation(codeFrameSize, "a HEADERS frame has no room for its priority")
		}
		p = p[5:]
	}
	if h.has(flagEndHeaders) {
		return c.blockIn(h.stream, p, h.has(flagEndStream), at)
	}
	c.in.block = append(c.in.block[:0], p...)
	c.in.blockOf, c.in.blockEnd = h.stream, h.has(flagEndStream)
	return nil
}

func (c *Conn) continuationIn(h frameHeader, p []byte, at int64) error {
	in := &c.in
	if in.blockOf == 0 {
		return violation(codeProtocol, "a CONTINUATION continues nothing")
	}
	if in.block = append(in.block, p...); len(in.block) > ourHeaderBytes || len(p) == 0 && !h.has(flagEndHeaders) {
		return violation(codeEnhanceCalm, "a header block is too long")
	}
	if !h.has(flagEndHeaders) {
		return nil
	}
	in.blockOf = 0
	return c.blockIn(h.stream, in.block, in.blockEnd, at)
}

// blockIn handles a whole header block: the response headers, the trailers, or both in one.
func (c *Conn) blockIn(id uint32, block []byte, end bool, at int64) error {
	m, err := c.in.meta.read(block)
	if err != nil {
		return err
	}
	s, err := c.find(id)
	if s == nil || err != nil {
		return err
	}
	if s.raw != nil {
		c.rawBlock(s, m, end, at)
		return nil
	}
	if e := s.in.take(m, end); e != nil {
		c.failStream(s, e, at)
		return nil
	}
	if end {
		// A server that ends before it has the whole request will not read the rest: say that none comes.
		c.mu.Lock()
		reset := s.state == open
		c.mu.Unlock()
		status, text := m.status, m.message
		c.release(s, reset, codeNo)
		s.h.OnEnd(End{Status: status, Message: text}, at)
	}
	return nil
}

// take holds a header block against what may come next on the stream.
func (in *inbound) take(m *meta, end bool) *neterr.Error {
	switch {
	case m.bad != "":
		return violation(codeProtocol, "the answer holds %s", m.bad)
	case in.headers && m.http != 0:
		return violation(codeProtocol, "the trailers hold a :status")
	case in.headers && !end:
		return violation(codeProtocol, "a second header block does not end the stream")
	case in.headers && in.partial():
		return violation(codeProtocol, "the answer ended inside a message")
	case !in.headers && m.http == 0:
		return violation(codeProtocol, "the answer has no :status")
	case !in.headers && m.http/100 == 1 && !end:
		return nil // informational: the real headers follow
	case !in.headers && m.http != 200:
		return &neterr.Error{Kind: neterr.Status, Code: uint32(m.http), Text: fmt.Sprintf("the server answered with HTTP status %d instead of a gRPC status", m.http)}
	case !in.headers && !m.grpc:
		return violation(codeProtocol, "the answer's content type is %.60q, want application/grpc", m.ctype)
	case end && m.status < 0:
		return violation(codeProtocol, "the answer ended without a gRPC status")
	case !in.headers:
		in.headers, in.encoding = true, m.encoding
		if m.encoding == zip.Unknown {
			return violation(codeCancel, "the answer's grpc-encoding is not one of those offered")
		}
	}
	return nil
}
