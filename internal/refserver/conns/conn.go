package conns

import (
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn follows the frames that a server writes.
type conn struct {
	net.Conn
	board *Board
	key   string

	mu      sync.Mutex
	lost    bool // the connection is not HTTP/2, or has ended: nothing is followed
	unpack  *hpack.Decoder
	head    []byte // of the current frame
	left    int    // bytes that it still has
	block   []byte // header fields that are not complete
	coming  map[string]*Stream
	streams map[uint32]*Stream
}

// frameHead is the size of a frame's header.
const frameHead = 9

func newConn(nc net.Conn, b *Board) *conn {
	return &conn{
		Conn: nc, board: b, key: nc.RemoteAddr().String(), lost: !b.follows, unpack: hpack.NewDecoder(4096, nil),
		coming: make(map[string]*Stream), streams: make(map[uint32]*Stream),
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.board.follows {
		waitForRoom(c.Conn)
		c.follow(p, time.Now().UnixNano())
	}
	return c.Conn.Write(p)
}

// NetConn is the connection below.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close implements net.Conn.
func (c *conn) Close() error {
	c.board.mu.Lock()
	if c.board.conns[c.key] == c {
		delete(c.board.conns, c.key)
	}
	c.board.mu.Unlock()
	c.mu.Lock()
	c.stopFollowing()
	c.mu.Unlock()
	return c.Conn.Close()
}

// expect registers a stream by its key. It returns false if the connection is not followed.
func (c *conn) expect(s *Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lost {
		c.coming[s.Key] = s
	}
	return !c.lost
}

// stopFollowing stops following the connection.
func (c *conn) stopFollowing() {
	c.lost = true
	for _, s := range c.coming {
		s.end()
	}
	for _, s := range c.streams {
		s.end()
	}
	clear(c.coming)
	clear(c.streams)
}

// follow reads bytes that are written at this time.
func (c *conn) follow(p []byte, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(p) > 0 && !c.lost {
		if k := frameHead - len(c.head); k > 0 {
			first := c.head == nil
			k = min(k, len(p))
			if c.head, p = append(c.head, p[:k]...), p[k:]; len(c.head) < frameHead {
				return
			}
			c.left = int(c.head[0])<<16 | int(c.head[1])<<8 | int(c.head[2])
			if first && c.kind() != http2.FrameSettings || c.flags().Has(http2.FlagDataPadded) && c.kind() <= http2.FrameHeaders {
				c.stopFollowing() // HTTP/1.1, TLS, or an unknown frame
				return
			}
		}
		k := min(c.left, len(p))
		c.payload(p[:k], at)
		if c.left, p = c.left-k, p[k:]; c.left == 0 {
			c.whole()
			c.head = c.head[:0]
		}
	}
}

func (c *conn) kind() http2.FrameType { return http2.FrameType(c.head[3]) }
func (c *conn) flags() http2.Flags    { return http2.Flags(c.head[4]) }
func (c *conn) id() uint32            { return binary.BigEndian.Uint32(c.head[5:]) }

// payload takes a part of the current frame.
func (c *conn) payload(p []byte, at int64) {
	switch c.kind() {
	case http2.FrameData:
		if s := c.streams[c.id()]; s != nil {
			s.data(p, at)
		}
	case http2.FrameHeaders, http2.FrameContinuation:
		c.block = append(c.block, p...)
	default: // other frames contain no part of a response
	}
}

// whole takes the end of the current frame.
func (c *conn) whole() {
	kind, last := c.kind(), false
	switch kind {
	case http2.FrameHeaders, http2.FrameContinuation:
		if c.flags().Has(http2.FlagHeadersEndHeaders) {
			c.fields()
		}
		last = kind == http2.FrameHeaders && c.flags().Has(http2.FlagHeadersEndStream)
	case http2.FrameData:
		last = c.flags().Has(http2.FlagDataEndStream)
	case http2.FrameRSTStream:
		last = true
	default:
	}
	if s := c.streams[c.id()]; last && s != nil {
		s.end()
		delete(c.streams, c.id())
	}
}

// fields reads a block of header fields, and finds the stream that it belongs to.
func (c *conn) fields() {
	list, err := c.unpack.DecodeFull(c.block)
	if c.block = c.block[:0]; err != nil {
		c.stopFollowing()
		return
	}
	var s *Stream
	rpc := false
	for _, f := range list {
		switch f.Name {
		case Header:
			s = c.coming[f.Value]
			delete(c.coming, f.Value)
		case "content-type":
			rpc = strings.HasPrefix(f.Value, "application/grpc")
		}
	}
	if s != nil {
		s.rpc = rpc
		c.streams[c.id()] = s
	}
}
