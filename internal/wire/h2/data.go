package h2

import (
	"encoding/binary"
	"errors"

	"github.com/redline-bench/redline/internal/wire/h2/zip"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// inbound is what a stream has received. It belongs to the reader.
type inbound struct {
	first    int64
	headers  bool // the response headers have come
	encoding zip.Encoding
	used     int64 // bytes of our window that were not given back yet

	late   int64 // see Stream.Late
	length int64 // of the body as announced, where it is not gRPC's; -1 is not known
	got    int64 // bytes of that body so far

	prefix  [prefixLen]byte
	prefixN int
	packed  bool
	size    int    // of the message that is being gathered
	buf     []byte // its bytes so far; nil between messages
}

// partial tells whether a message has begun and not ended.
func (in *inbound) partial() bool { return in.prefixN > 0 || in.buf != nil }

// beginData starts a DATA frame. pad counts the padding with its length byte.
func (c *Conn) beginData(h frameHeader, pad int, at int64) error {
	in := &c.in
	s, err := c.find(h.stream)
	if err != nil {
		return err
	}
	if in.win -= int64(h.length); in.win < 0 {
		return violation(codeFlow, "the server sends more than the connection's window")
	}
	if s != nil && !s.in.headers {
		c.failStream(s, violation(codeProtocol, "DATA came before HEADERS"), at)
		s = nil
	}
	if s != nil {
		if s.in.used += int64(h.length); s.in.used > ourWindow {
			c.failStream(s, violation(codeFlow, "the server sends more than the stream's window"), at)
			s = nil
		} else if s.in.first == 0 && h.length > pad {
			s.in.first = at
		}
	}
	in.inData, in.dst, in.data, in.pad, in.dataEnd = true, s, h.length-pad, max(pad-1, 0), h.has(flagEndStream)
	c.giveBack(s)
	return nil
}

// giveBack returns window to the server once half of it is used.
func (c *Conn) giveBack(s *Stream) {
	conn := c.in.win < ourWindow/2
	stream := s != nil && s.in.used > ourWindow/2
	if !conn && !stream {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn {
		c.out.Buf = appendShort(c.out.Buf, frameWindow, 0, uint32(ourWindow-c.in.win))
		c.in.win = ourWindow
	}
	if stream {
		c.out.Buf = appendShort(c.out.Buf, frameWindow, s.id, uint32(s.in.used))
		s.in.used = 0
	}
}

// feedData handles what the buffer holds of the DATA frame being read. It returns false when that is not all.
func (c *Conn) feedData(at int64) bool {
	in := &c.in
	if in.dst != nil {
		c.finish(in.dst, at) // a read may have gone straight into the message
	}
	if n := min(in.data, in.w-in.r); n > 0 {
		p := in.buf[in.r : in.r+n]
		in.r += n
		in.data -= n
		if in.dst != nil {
			c.gather(in.dst, p, at)
		}
	}
	if in.data == 0 {
		n := min(in.pad, in.w-in.r)
		in.r += n
		in.pad -= n
	}
	if in.data > 0 || in.pad > 0 {
		return false
	}
	s, end := in.dst, in.dataEnd
	in.inData, in.dst, in.dataEnd = false, nil, false
	switch {
	case s == nil || !end:
	case s.raw != nil:
		c.rawEnd(s, at)
	default:
		c.failStream(s, violation(codeProtocol, "the answer ended without a gRPC status"), at)
	}
	return true
}

// gather cuts the bytes of a stream into messages. A message that lies whole in the buffer is handed on
// where it is; else its pieces are put together.
func (c *Conn) gather(s *Stream, p []byte, at int64) {
	in := &s.in
	if s.raw != nil {
		if in.got += int64(len(p)); in.got > int64(c.cfg.MaxMessage) {
			c.failStream(s, tooLarge("an answer has more than %d bytes", c.cfg.MaxMessage), at)
			return
		}
		in.late = max(in.late, c.in.late)
		s.h.OnMessage(p, at)
		return
	}
	for len(p) > 0 {
		if in.buf == nil {
			n := copy(in.prefix[in.prefixN:], p)
			in.prefixN += n
			p = p[n:]
			if in.prefixN < prefixLen {
				return
			}
			if err := c.beginMessage(in); err != nil {
				c.failStream(s, err, at)
				return
			}
			if len(p) >= in.size {
				msg := p[:in.size]
				p = p[in.size:]
				in.prefixN = 0
				if !c.deliver(s, msg, at) {
					return
				}
				continue
			}
			in.buf = c.in.borrow()
		}
		n := min(len(p), in.size-len(in.buf))
		if err := c.room(in, n); err != nil {
			c.failStream(s, err, at)
			return
		}
		in.buf = append(in.buf, p[:n]...)
		p = p[n:]
		if !c.finish(s, at) {
			return
		}
	}
}

// finish delivers the gathered message when it is whole. It returns false when the stream has ended.
func (c *Conn) finish(s *Stream, at int64) bool {
	in := &s.in
	if in.buf == nil || len(in.buf) < in.size {
		return true
	}
	msg := in.buf
	in.buf, in.prefixN = nil, 0
	ok := c.deliver(s, msg, at)
	c.in.giveBuf(msg, c.cfg.MaxMessage)
	return ok
}

// room makes place for n more bytes of a message. It fails where the connection, or the run, holds too much that is unread.
func (c *Conn) room(in *inbound, n int) *neterr.Error {
	before := cap(in.buf)
	if !c.in.hold(grown(in.buf, n, in.size)) {
		return tooLarge("%s", c.in.share.Over())
	}
	in.buf = grow(in.buf, n, in.size)
	c.in.unread += cap(in.buf) - before
	c.in.hold(0)
	if c.in.unread > c.cfg.MaxUnread {
		return tooLarge("messages that have come in part take more than %d bytes on one connection", c.cfg.MaxUnread)
	}
	return nil
}

// hold tells the budget of the run that the buffers take so many bytes more. It returns false where that is too much.
func (in *reader) hold(more int) bool { return in.share.Hold(int64(in.unread + in.kept + more)) }

// tooLarge is the error of an answer above the limits.
func tooLarge(format string, args ...any) *neterr.Error {
	err := violation(codeCancel, format, args...)
	err.Kind = neterr.TooLarge
	return err
}

func (c *Conn) beginMessage(in *inbound) *neterr.Error {
	size := binary.BigEndian.Uint32(in.prefix[1:])
	switch in.prefix[0] {
	case 0:
		in.packed = false
	case 1:
		if in.encoding == zip.Identity {
			return violation(codeProtocol, "a message is compressed, but no grpc-encoding was named")
		}
		in.packed = true
	default:
		return violation(codeProtocol, "a message begins with byte %d, want 0 or 1", in.prefix[0])
	}
	if int64(size) > int64(c.cfg.MaxMessage) {
		return tooLarge("a message of %d bytes is larger than the limit of %d", size, c.cfg.MaxMessage)
	}
	in.size = int(size)
	return nil
}

// deliver hands a message to the handler. It returns false when the message was bad and the stream has ended.
func (c *Conn) deliver(s *Stream, msg []byte, at int64) bool {
	if s.in.packed {
		var err error
		c.in.unpacking = s
		msg, err = c.in.unzip.Unpack(s.in.encoding, msg, c.cfg.MaxMessage, c.in.stop)
		switch {
		case errors.Is(err, zip.ErrStopped):
			c.runCuts(at)
			return false
		case errors.Is(err, zip.ErrTooLarge):
			c.failStream(s, tooLarge("a message unpacks to more than %d bytes", c.cfg.MaxMessage), at)
			return false
		case errors.Is(err, zip.ErrNoRoom):
			c.failStream(s, tooLarge("%s", c.in.share.Over()), at)
			return false
		case err != nil:
			c.failStream(s, violation(codeProtocol, "a message does not unpack: %v", err), at)
			return false
		}
	}
	s.in.late = max(s.in.late, c.in.late)
	s.h.OnMessage(msg, at)
	return true
}

// directSize is the rest of a frame from which a read goes straight into the message.
const directSize = readSize / 2

// direct returns the place in the message being gathered where the next read should go, or nil.
func (in *reader) direct(limit int) []byte {
	if in.dst == nil || in.data < directSize || in.dst.in.buf == nil {
		return nil
	}
	m := &in.dst.in
	n := min(in.data, m.size-len(m.buf))
	if n < directSize {
		return nil
	}
	before := cap(m.buf)
	if in.unread+max(0, len(m.buf)+n-before) > limit || !in.hold(grown(m.buf, n, m.size)) {
		return nil // gather will fail the stream
	}
	m.buf = grow(m.buf, n, m.size)
	in.unread += cap(m.buf) - before
	return m.buf[len(m.buf):min(len(m.buf)+n, cap(m.buf))]
}

// commit counts n bytes that were read into the place that direct returned. feed sees to the rest.
func (in *reader) commit(n int) {
	if n > 0 {
		m := &in.dst.in
		m.buf = m.buf[:len(m.buf)+n]
		in.data -= n
	}
}

// grow makes room for n more bytes of a message of the given size. A claimed size alone reserves little.
func grow(b []byte, n, size int) []byte {
	more := grown(b, n, size)
	if more == 0 {
		return b
	}
	bigger := make([]byte, len(b), more)
	copy(bigger, b)
	return bigger
}

// grown is the size of the buffer that grow makes; 0 where it makes none.
func grown(b []byte, n, size int) int {
	const step = 1 << 20
	if cap(b)-len(b) >= n {
		return 0
	}
	return min(size, max(len(b)+n, 2*cap(b), min(size, step)))
}

func (in *reader) borrow() []byte {
	if n := len(in.free); n > 0 {
		b := in.free[n-1]
		in.free = in.free[:n-1]
		in.kept -= cap(b)
		in.unread += cap(b)
		return b[:0]
	}
	const first = 4096
	in.unread += first
	return make([]byte, 0, first)
}

// giveBuf takes back a buffer that borrow gave. Those that are kept take no more than most bytes.
func (in *reader) giveBuf(b []byte, most int) {
	in.unread -= cap(b)
	if in.kept+cap(b) <= most && !in.share.Spare() {
		in.kept += cap(b)
		in.free = append(in.free, b)
	}
	in.hold(0)
}

// drop forgets a stream that has ended.
func (in *reader) drop(s *Stream, most int) {
	if in.dst == s {
		in.dst = nil
	}
	if in.last == s {
		in.last = nil
	}
	if s.in.buf != nil {
		in.giveBuf(s.in.buf, most)
		s.in.buf = nil
	}
}
