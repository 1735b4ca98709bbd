// Package conns knows the connections of a server: it refuses and resets them, and records when the parts of a streamed response were
// passed to the system, if the handler cannot know this.
//
// Over HTTP/1.1 a handler that flushes makes the system call itself. Over HTTP/2 all responses of a connection share a writer
// goroutine: data that a handler flushes, or that gRPC sends, waits for the writer, for milliseconds if many streams send at
// once. This package therefore wraps the connection and follows its writes frame by frame. The time of data is taken right
// before the system call that writes it. A stream is identified by a field of its response's head, Header, whose value the handler gets
// from its Stream.
package conns

import (
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Header is the field that identifies a stream.
const Header = "x-redline-answer"

// Board knows the connections of a server.
type Board struct {
	follows bool
	refuses atomic.Bool

	mu    sync.Mutex
	conns map[string]*conn // by the client's address
	last  uint64
}

// New makes a board. It records when data left only if it follows the connections.
func New(follows bool) *Board { return &Board{follows: follows, conns: make(map[string]*conn)} }

// Listener watches the connections of a listener.
func (b *Board) Listener(l net.Listener) net.Listener { return &listener{Listener: l, board: b} }

type listener struct {
	net.Listener
	board *Board
}

// Accept implements net.Listener. It closes connections at once when they are refused.
func (l *listener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	for ; err == nil && l.board.refuses.Load(); nc, err = l.Listener.Accept() {
		_ = nc.Close()
	}
	if err != nil {
		return nil, err
	}
	c := newConn(nc, l.board)
	l.board.mu.Lock()
	defer l.board.mu.Unlock()
	l.board.conns[c.key] = c
	return c, nil
}

// Refuse closes every new connection from now on.
func (b *Board) Refuse() { b.refuses.Store(true) }

// Conn is the connection of a client's address; nil if there is none.
func (b *Board) Conn(remote string) net.Conn {
	if c := b.find(remote); c != nil {
		return c.Conn
	}
	return nil
}

func (b *Board) find(remote string) *conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns[remote]
}

// Reset ends a connection so that the other side sees a reset.
func Reset(c net.Conn) {
	bare := c
	for inner, ok := bare.(interface{ NetConn() net.Conn }); ok; inner, ok = bare.(interface{ NetConn() net.Conn }) {
		bare = inner.NetConn() // below TLS, and below this package
	}
	if tcp, ok := bare.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
		_ = tcp.Close() // before TLS can send its close message
	}
	_ = c.Close()
}

// Stream returns the stream for the response to a request from this address; nil if its connection is not followed. The
// handler must set its Key as Header before the response begins.
func (b *Board) Stream(remote string) *Stream {
	if b == nil || !b.follows {
		return nil
	}
	c := b.find(remote)
	if c == nil {
		return nil
	}
	b.mu.Lock()
	b.last++
	s := &Stream{Key: strconv.FormatUint(b.last, 10)}
	b.mu.Unlock()
	if !c.expect(s) {
		return nil
	}
	return s
}

// Request is Stream for an HTTP request. It is nil for HTTP/1.1, whose handler makes the system calls itself.
func (b *Board) Request(r *http.Request) *Stream {
	if r.ProtoMajor != 2 {
		return nil
	}
	return b.Stream(r.RemoteAddr)
}

// Stream is one response that is being sent.
type Stream struct {
	Key string

	mu      sync.Mutex
	rpc     bool // counts gRPC messages instead of bytes
	prefix  []byte
	rest    int // of the current message
	sent    int64
	at      int64 // when the last of it left
	over    bool
	waiting []note
}

// note is a request for the time at which so much was sent.
type note struct {
	end int64
	fn  func(at int64)
}

// When calls fn with the time at which the stream's first end bytes, or its first end gRPC messages, were sent, in nanoseconds
// of the wall clock; with 0 if they never are. For an exact time, call it before they are written. end must not decrease from
// call to call. fn is called once, and only one fn at a time.
func (s *Stream) When(end int64, fn func(at int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sent >= end:
		fn(s.at)
	case s.over:
		fn(0)
	default:
		s.waiting = append(s.waiting, note{end, fn})
	}
}

// data takes bytes of the body that leave at a time.
func (s *Stream) data(p []byte, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	if s.rpc {
		s.messages(p)
	} else {
		s.sent += int64(len(p))
	}
	n := 0
	for ; n < len(s.waiting) && s.waiting[n].end <= s.sent; n++ {
		s.waiting[n].fn(at)
	}
	s.waiting = s.waiting[n:]
}

// prefixLen is the size of the prefix of a gRPC message: a flag and the length.
const prefixLen = 5

// messages counts the messages whose last byte is in p.
func (s *Stream) messages(p []byte) {
	for len(p) > 0 {
		if k := prefixLen - len(s.prefix); k > 0 {
			k = min(k, len(p))
			if s.prefix, p = append(s.prefix, p[:k]...), p[k:]; len(s.prefix) < prefixLen {
				return
			}
			s.rest = int(s.prefix[1])<<24 | int(s.prefix[2])<<16 | int(s.prefix[3])<<8 | int(s.prefix[4])
		}
		k := min(s.rest, len(p))
		if s.rest, p = s.rest-k, p[k:]; s.rest == 0 {
			s.prefix = s.prefix[:0]
			s.sent++
		}
	}
}

// end calls the remaining notes with 0: nothing more is sent.
func (s *Stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, n := range s.waiting {
		n.fn(0)
	}
	s.waiting = nil
}

// Times are when the parts of one response were sent, in nanoseconds of the wall clock. Stream is nil where the caller makes the system
// calls itself: then the time is that of the call to Mark.
type Times struct {
	Stream *Stream
	mu     sync.Mutex
	at     []int64
	end    int64
}

// Mark says that the parts from one on are sent with the first end bytes, or messages, of the stream, which are written next. A part that
// is marked again is sent in several pieces; the last one counts.
func (t *Times) Mark(from, to int, end int64) {
	set := func(at int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for len(t.at) < to {
			t.at = append(t.at, 0)
		}
		for i := from; at != 0 && i < to; i++ {
			t.at[i] = at
		}
	}
	set(time.Now().UnixNano())
	if t.end = end; t.Stream != nil {
		t.Stream.When(end, set)
	}
}

// Told calls fn with the times when all parts have been sent.
func (t *Times) Told(fn func(at []int64)) {
	tell := func(int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		fn(t.at)
	}
	if t.Stream == nil || t.end == 0 {
		tell(0)
		return
	}
	t.Stream.When(t.end, tell)
}
