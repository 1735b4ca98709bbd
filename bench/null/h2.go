package null

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"golang.org/x/net/http2"
)

const (
	frameHead  = 9
	maxFrame   = 16384
	maxWindow  = math.MaxInt32
	firstSize  = 65535   // the window that HTTP/2 starts with
	refillSize = 1 << 29 // how much is read before the peer is given more room
)

var errProtocol = errors.New("HTTP/2 protocol error")

// rpcSession uses gRPC over HTTP/2.
type rpcSession struct {
	server  *Server
	started bool
	blocks  blocks
	streams map[uint32]*stream
	one     stream // the last unary stream, used again: most calls open and close at once

	window   int64 // what we may send on the connection
	initial  int64 // what we may send on a new stream
	room     int64 // read since the peer was last given room
	table    int   // how many of our two headers the peer has in its table
	noTable  bool  // the peer keeps no table of headers
	partial  uint32
	fragment []byte // a header block that continues in CONTINUATION frames
	ends     bool   // and whether it ends its stream
	blocked  []*stream
	last     *kind
	lastID   key
	scratch  []byte
}

// stream is one call.
type stream struct {
	id      uint32
	path    string
	message []byte // a message that has not fully come
	window  int64
	pending []byte // answers that wait for room
	opened  bool   // headers are sent
	closing bool   // trailers follow what is pending
	read    int64
}

func newRPCSession(s *Server) *rpcSession {
	return &rpcSession{server: s, streams: map[uint32]*stream{}, window: firstSize, initial: firstSize}
}

func (c *rpcSession) consume(in, out []byte) (int, []byte, error) {
	used := 0
	if !c.started {
		if len(in) < len(http2.ClientPreface) {
			if string(in) != http2.ClientPreface[:len(in)] {
				return 0, out, errProtocol
			}
			return 0, out, nil
		}
		if !bytes.HasPrefix(in, []byte(http2.ClientPreface)) {
			return 0, out, errProtocol
		}
		used, c.started = len(http2.ClientPreface), true
		out = appendGreeting(out)
	}
	for {
		rest := in[used:]
		if len(rest) < frameHead {
			return used, out, nil
		}
		size := int(rest[0])<<16 | int(rest[1])<<8 | int(rest[2])
		if size > maxFrame {
			return used, out, errProtocol
		}
		if len(rest) < frameHead+size {
			return used, out, nil
		}
		id := binary.BigEndian.Uint32(rest[5:]) & math.MaxInt32
		var err error
		out, err = c.frame(http2.FrameType(rest[3]), http2.Flags(rest[4]), id, rest[frameHead:frameHead+size], out)
		if err != nil {
			return used, out, err
		}
		used += frameHead + size
	}
}

// appendGreeting sends our settings and opens the connection's window as far as it goes.
func appendGreeting(out []byte) []byte {
	out = appendHead(out, 12, http2.FrameSettings, 0, 0)
	out = append(out, 0, byte(http2.SettingInitialWindowSize))
	out = binary.BigEndian.AppendUint32(out, maxWindow)
	out = append(out, 0, byte(http2.SettingMaxConcurrentStreams))
	out = binary.BigEndian.AppendUint32(out, math.MaxInt32)
	return appendRoom(out, 0, maxWindow-firstSize)
}

func appendHead(out []byte, size int, kind http2.FrameType, flags http2.Flags, id uint32) []byte {
	out = append(out, byte(size>>16), byte(size>>8), byte(size), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(out, id)
}

func appendRoom(out []byte, id uint32, n int64) []byte {
	out = appendHead(out, 4, http2.FrameWindowUpdate, 0, id)
	return binary.BigEndian.AppendUint32(out, uint32(n))
}

func (c *rpcSession) frame(kind http2.FrameType, flags http2.Flags, id uint32, body, out []byte) ([]byte, error) {
	if c.partial != 0 && (kind != http2.FrameContinuation || id != c.partial) {
		return out, errProtocol
	}
	switch kind {
	case http2.FrameData:
		return c.data(flags, id, body, out)
	case http2.FrameHeaders:
		return c.headers(flags, id, body, out)
	case http2.FrameContinuation:
		c.fragment = append(c.fragment, body...)
		if len(c.fragment) > maxHead {
			return out, errProtocol
		}
		if flags.Has(http2.FlagContinuationEndHeaders) {
			c.partial = 0
			return c.open(id, c.fragment, c.ends, out)
		}
	case http2.FrameSettings:
		if flags.Has(http2.FlagSettingsAck) {
			return out, nil
		}
		if err := c.settings(body); err != nil {
			return out, err
		}
		return c.flush(appendHead(out, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)), nil
	case http2.FramePing:
		if len(body) == 8 && !flags.Has(http2.FlagPingAck) {
			out = append(appendHead(out, 8, http2.FramePing, http2.FlagPingAck, 0), body...)
		}
	case http2.FrameWindowUpdate:
		if len(body) != 4 {
			return out, errProtocol
		}
		n := int64(binary.BigEndian.Uint32(body) & math.MaxInt32)
		if id == 0 {
			c.window += n
		} else if s := c.streams[id]; s != nil {
			s.window += n
		}
		return c.flush(out), nil
	case http2.FrameRSTStream:
		if s := c.streams[id]; s != nil {
			delete(c.streams, id)
			c.blocked = slices.DeleteFunc(c.blocked, func(o *stream) bool { return o == s })
			s.id = 0
		}
	case http2.FrameGoAway, http2.FramePriority, http2.FramePushPromise, http2.FramePriorityUpdate:
	}
	return out, nil
}

func (c *rpcSession) settings(body []byte) error {
	if len(body)%6 != 0 {
		return errProtocol
	}
	for ; len(body) >= 6; body = body[6:] {
		value := binary.BigEndian.Uint32(body[2:])
		id := http2.SettingID(binary.BigEndian.Uint16(body))
		if id == http2.SettingHeaderTableSize {
			c.noTable = value < 4096
		}
		if id == http2.SettingInitialWindowSize {
			if value > maxWindow {
				return errProtocol
			}
			for _, s := range c.streams {
				s.window += int64(value) - c.initial
			}
			c.initial = int64(value)
		}
	}
	return nil
}

func (c *rpcSession) headers(flags http2.Flags, id uint32, body, out []byte) ([]byte, error) {
	if id%2 == 0 {
		return out, errProtocol
	}
	if flags.Has(http2.FlagHeadersPadded) {
		if len(body) == 0 || int(body[0]) >= len(body) {
			return out, errProtocol
		}
		body = body[1 : len(body)-int(body[0])]
	}
	if flags.Has(http2.FlagHeadersPriority) {
		if len(body) < 5 {
			return out, errProtocol
		}
		body = body[5:]
	}
	ends := flags.Has(http2.FlagHeadersEndStream)
	if !flags.Has(http2.FlagHeadersEndHeaders) {
		c.partial, c.ends = id, ends
		c.fragment = append(c.fragment[:0], body...)
		return out, nil
	}
	return c.open(id, body, ends, out)
}

// open starts a call.
func (c *rpcSession) open(id uint32, block []byte, ends bool, out []byte) ([]byte, error) {
	path, err := c.blocks.path(block)
	if err != nil {
		return out, err
	}
	if c.streams[id] != nil { // trailers of the client
		if ends {
			return c.end(c.streams[id], out), nil
		}
		return out, nil
	}
	s := &c.one
	if s.id != 0 {
		s = &stream{}
	}
	*s = stream{id: id, path: path, window: c.initial, message: s.message[:0], pending: s.pending[:0]}
	c.streams[id] = s
	if ends {
		return c.end(s, out), nil
	}
	return out, nil
}

func (c *rpcSession) data(flags http2.Flags, id uint32, body, out []byte) ([]byte, error) {
	c.room += int64(len(body))
	if c.room > refillSize {
		out = appendRoom(out, 0, c.room)
		c.room = 0
	}
	s := c.streams[id]
	if s == nil {
		return out, nil // a call that was reset
	}
	if s.read += int64(len(body)); s.read > refillSize {
		out = appendRoom(out, id, s.read)
		s.read = 0
	}
	if flags.Has(http2.FlagDataPadded) {
		if len(body) == 0 || int(body[0]) >= len(body) {
			return out, errProtocol
		}
		body = body[1 : len(body)-int(body[0])]
	}
	if len(s.message) > 0 {
		s.message = append(s.message, body...)
		body = s.message
	}
	for len(body) >= 5 && s.id == id {
		size := int(binary.BigEndian.Uint32(body[1:]))
		if body[0] != 0 || size > math.MaxInt32 {
			return c.fail(s, "12", "compressed messages are not for benchmarks", out), nil
		}
		if len(body) < 5+size {
			break
		}
		out = c.message(s, body[5:5+size], out)
		body = body[5+size:]
	}
	// What is left of a message waits; body may lie in s.message itself.
	s.message = append(s.message[:0], body...)
	if flags.Has(http2.FlagDataEndStream) && c.streams[id] == s {
		return c.end(s, out), nil
	}
	return out, nil
}
