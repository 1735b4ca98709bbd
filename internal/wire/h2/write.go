package h2

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Header is the header fields of requests, ready to be packed. It may be used on any number of connections.
type Header struct {
	fields []hpack.Field
}

// prepared is the packed form of a header on one connection, valid for one generation of its encoder.
type prepared struct {
	header *Header
	gen    uint64
	block  []byte
}

// Message is one gRPC message to send: Body, which is the same in many requests, then Tail. Neither may be
// changed before the stream has ended or, on a stream with several messages, before it was answered.
type Message struct {
	Body, Tail []byte
	Compressed bool
	Last       bool // nothing follows: half-close
	// Framed: Body holds any number of messages that have their prefixes already, see AppendMessage.
	Framed bool
}

const prefixLen = 5

// AppendMessage adds a message with its prefix to the body of a framed one.
func AppendMessage(b, msg []byte, compressed bool) []byte {
	m := Message{Body: msg, Compressed: compressed}
	p := m.prefix()
	return append(append(b, p[:]...), msg...)
}

func (m *Message) size() int { return m.head() + len(m.Body) + len(m.Tail) }

// head is the size of the prefix that is still to be written.
func (m *Message) head() int {
	if m.Framed {
		return 0
	}
	return prefixLen
}

func (m *Message) prefix() (p [prefixLen]byte) {
	if m.Compressed {
		p[0] = 1
	}
	binary.BigEndian.PutUint32(p[1:], uint32(len(m.Body)+len(m.Tail)))
	return p
}

// maxUnsent bounds the bytes of requests that wait for a server which does not read them. Each request in flight has a
// few thousand there at most, as larger parts are not copied; requests that were given up leave theirs behind.
const maxUnsent = 64 << 20

// Open starts an exchange on s with the given header and first message. Nothing is written before Flush, or
// before Serve has finished with the read that it is at. Where Open returns an error, s has not been used, and
// no handler is called.
func (c *Conn) Open(s *Stream, h *Header, m Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if c.draining {
		return ErrDraining
	}
	if n := c.out.Unsent(); n > maxUnsent {
		c.broken(&neterr.Error{Kind: neterr.Reset, Text: fmt.Sprintf("the server does not read: %d bytes of requests are unsent", n)})
		return c.err
	}
	if c.nextID+2*uint32(len(c.queue)) > maxStreamID { // all ids are used up
		c.drain()
		return ErrDraining
	}
	s.seq++
	s.header = h
	s.in = inbound{}
	if len(c.queue) > 0 || uint32(c.streams.live) >= c.peer.maxStreams {
		s.state = waiting
		s.unsent = append(s.unsent[:0], unsent{msg: m})
		c.queue = append(c.queue, s)
		return nil
	}
	c.begin(s)
	c.send(s, m)
	return nil
}

// begin gives s an id and sends its HEADERS.
func (c *Conn) begin(s *Stream) {
	s.id = c.nextID
	c.nextID += 2
	s.state = open
	s.win = c.peer.window
	s.unsent = s.unsent[:0]
	c.streams.put(s)
	block := c.pack(s.header)
	if len(s.also) > 0 {
		c.joined = append(append(c.joined[:0], block...), s.also...)
		block = c.joined
	}
	if len(block) <= c.peer.frameSize {
		c.out.Buf = appendFrameHeader(c.out.Buf, len(block), frameHeaders, flagEndHeaders, s.id)
		c.out.Buf = append(c.out.Buf, block...)
		return
	}
	for typ := byte(frameHeaders); ; typ = frameContinuation {
		n, flags := len(block), byte(flagEndHeaders)
		if n > c.peer.frameSize {
			n, flags = c.peer.frameSize, 0
		}
		c.out.Buf = appendFrameHeader(c.out.Buf, n, typ, flags, s.id)
		c.out.Buf = append(c.out.Buf, block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return
		}
	}
}

// pack returns the header block of h, from the cache where the encoder still means the same by it.
func (c *Conn) pack(h *Header) []byte {
	gen := c.enc.Generation()
	at := -1
	for i := range c.prepared {
		if c.prepared[i].header == h {
			if c.prepared[i].gen == gen {
				return c.prepared[i].block
			}
			at = i
			break
		}
	}
	c.scratch = c.enc.Append(c.scratch[:0], h.fields)
	if c.enc.Generation() != gen {
		return c.scratch // it has stored fields: the next one will be shorter
	}
	if at < 0 {
		if len(c.prepared) >= 16 { // control calls with changing headers must not pile up
			c.prepared = c.prepared[:0]
		}
		at = len(c.prepared)
		c.prepared = append(c.prepared, prepared{header: h})
	}
	p := &c.prepared[at]
	p.gen, p.block = gen, append(p.block[:0], c.scratch...)
	return p.block
}

// Send sends one more message on an open stream. It reports whether the stream is still open for it.
func (c *Conn) Send(s *Stream, m Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return false
	case s.state == waiting:
		s.unsent = append(s.unsent, unsent{msg: m})
	case s.state == open:
		c.send(s, m)
	default:
		return false
	}
	return true
}

// send frames m at once where it fits into the windows, else leaves it to pump.
func (c *Conn) send(s *Stream, m Message) {
	size := m.size()
	if len(s.unsent) > 0 || size > c.peer.frameSize || int64(size) > s.win || int64(size) > c.win {
		s.unsent = append(s.unsent, unsent{msg: m})
		c.block(s)
		c.pump()
		return
	}
	s.win -= int64(size)
	c.win -= int64(size)
	c.frame(s, &m, 0, size)
}

// frame adds a DATA frame with n bytes of m from off on; off counts the prefix.
func (c *Conn) frame(s *Stream, m *Message, off, n int) {
	var flags byte
	if m.Last && off+n == m.size() {
		flags = flagEndStream
		s.state = halfOpen
	}
	c.out.Buf = appendFrameHeader(c.out.Buf, n, frameData, flags, s.id)
	head := m.head()
	if off < head {
		p := m.prefix()
		k := min(n, head-off)
		c.out.Buf = append(c.out.Buf, p[off:off+k]...)
		off, n = off+k, n-k
	}
	if off -= head; n > 0 && off < len(m.Body) {
		k := min(n, len(m.Body)-off)
		c.out.Add(m.Body[off : off+k])
		off, n = off+k, n-k
	}
	if off -= len(m.Body); n > 0 {
		c.out.Add(m.Tail[off : off+n])
	}
}

func (c *Conn) block(s *Stream) {
	if !s.blocked {
		s.blocked = true
		c.blocked = append(c.blocked, s)
	}
}

// pump sends what the windows allow of the unsent messages, oldest stream first.
func (c *Conn) pump() {
	keep := c.blocked[:0]
	for _, s := range c.blocked {
		if s.state == open {
			c.pumpStream(s)
		} else {
			s.unsent = s.unsent[:0]
		}
		if len(s.unsent) > 0 {
			keep = append(keep, s)
		} else {
			s.blocked = false
		}
	}
	clear(c.blocked[len(keep):])
	c.blocked = keep
}

func (c *Conn) pumpStream(s *Stream) {
	done := 0
	for i := range s.unsent {
		u := &s.unsent[i]
		for u.off < u.msg.size() {
			n := min(int64(u.msg.size()-u.off), int64(c.peer.frameSize), s.win, c.win)
			if n <= 0 {
				s.unsent = append(s.unsent[:0], s.unsent[done:]...)
				return
			}
			s.win -= n
			c.win -= n
			c.frame(s, &u.msg, u.off, int(n))
			u.off += int(n)
		}
		done++
	}
	s.unsent = s.unsent[:0]
}

// admit starts waiting streams while the server has places for them.
func (c *Conn) admit() {
	for len(c.queue) > 0 && uint32(c.streams.live) < c.peer.maxStreams && !c.draining {
		s := c.queue[0]
		n := copy(c.queue, c.queue[1:])
		c.queue[n] = nil
		c.queue = c.queue[:n]
		msgs := s.unsent
		s.unsent = nil
		c.begin(s)
		if len(msgs) == 1 {
			s.unsent = msgs[:0]
			c.send(s, msgs[0].msg)
			continue
		}
		s.unsent = msgs
		c.block(s)
		c.pump()
	}
}

// cut is a request to end one exchange of a stream.
type cut struct {
	s     *Stream
	seq   uint64
	cause error
}

// Cancel ends the exchange that s is in, if any: RST_STREAM is sent, and OnEnd follows on Serve's goroutine
// with an error of kind Canceled around cause.
func (c *Conn) Cancel(s *Stream, cause error) {
	c.mu.Lock()
	if s.state != idle {
		c.cuts = append(c.cuts, cut{s, s.seq, cause})
	}
	c.mu.Unlock()
	// A deadline in the past wakes the reader, which clears it before it looks at the cuts.
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
}

// drain marks the connection as closed for new streams.
func (c *Conn) drain() {
	if !c.draining {
		c.draining = true
		if c.cfg.OnDrain != nil {
			go c.cfg.OnDrain()
		}
	}
}
