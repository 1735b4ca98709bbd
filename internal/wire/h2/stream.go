package h2

import (
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

// Handler receives what happens to a stream, on the goroutine that runs Conn.Serve. No lock of the connection
// is held: a handler may open streams, on this connection too, with the Stream that has just ended as well.
type Handler interface {
	// OnMessage reports one whole message, read at time at. msg is valid until it returns.
	OnMessage(msg []byte, at int64)
	// OnEnd reports the end of the stream. Nothing follows it.
	OnEnd(end End, at int64)
}

// End is how a stream ended. Where Err is nil, the server gave a gRPC status.
type End struct {
	Status  int
	Message string
	Err     error // of type *neterr.Error
}

// Stream is one exchange. It belongs to the caller, who may use it again after its end, so that streams cost
// no memory in the steady state. Use Bind before the first Open.
type Stream struct {
	h   Handler
	raw HeadHandler // h, where the answer's body is not gRPC's; see raw.go

	reply *wire.Reply // of the answer at hand, where it is not gRPC's; the reader's

	// Under the connection's mutex.
	id      uint32
	seq     uint64 // counts the exchanges, so that a late Cancel does not hit a later one
	state   state
	win     int64 // what the server lets us send
	unsent  []unsent
	blocked bool // in the connection's list of streams with unsent bytes
	header  *Header
	also    []byte // see Also

	// The reader's.
	in inbound
}

// state is what is known of a stream under the connection's mutex.
type state uint8

const (
	idle     state = iota // not in use
	waiting               // for a place among the server's concurrent streams
	open                  // both sides may send
	halfOpen              // we have sent everything
)

// unsent is a message that does not fit into the windows. off counts the bytes that were sent, prefix included.
type unsent struct {
	msg Message
	off int
}

// Bind sets the handler. It must not be called while the stream is in use.
func (s *Stream) Bind(h Handler) {
	s.h = h
	if s.raw, _ = h.(HeadHandler); s.raw != nil {
		s.reply = new(wire.Reply)
	}
}

// Also sets a field, with its name in lower case, that the next exchanges have after those of their header; an empty name sets none.
// It must not be called while the stream is in use. The field is not packed and does not enter the connection's table.
func (s *Stream) Also(name string, value []byte) {
	s.also = s.also[:0]
	if name != "" {
		s.also = hpack.AppendLiteral(s.also, name, value)
	}
}

// First is the time at which the first byte of the answer's body was read; 0 when there was none. Only
// handlers may call it.
func (s *Stream) First() int64 { return s.in.first }

// Late is the longest time for which a part of the answer had come and was not read; 0 where that is not known.
// Only handlers may call it.
func (s *Stream) Late() int64 { return s.in.late }

// table finds streams by id. Ids rise by two, so a ring of the last ones finds almost all of them without
// hashing; a stream whose place is still taken by an older one goes into the map.
type table struct {
	ring []*Stream
	over map[uint32]*Stream
	live int
}

const firstRing = 128

func (t *table) place(id uint32) int { return int(id>>1) & (len(t.ring) - 1) }

func (t *table) get(id uint32) *Stream {
	if len(t.ring) == 0 {
		return nil
	}
	if s := t.ring[t.place(id)]; s != nil && s.id == id {
		return s
	}
	if len(t.over) > 0 {
		return t.over[id]
	}
	return nil
}

func (t *table) put(s *Stream) {
	if len(t.ring) == 0 {
		t.ring = make([]*Stream, firstRing)
	}
	t.live++
	if t.ring[t.place(s.id)] != nil && t.live*2 > len(t.ring) {
		t.grow()
	}
	t.insert(s)
}

func (t *table) insert(s *Stream) {
	if i := t.place(s.id); t.ring[i] == nil {
		t.ring[i] = s
		return
	}
	if t.over == nil {
		t.over = make(map[uint32]*Stream)
	}
	t.over[s.id] = s
}

func (t *table) grow() {
	old := t.all()
	t.ring = make([]*Stream, 2*len(t.ring))
	clear(t.over)
	for _, s := range old {
		t.insert(s)
	}
}

func (t *table) remove(s *Stream) {
	t.live--
	if i := t.place(s.id); t.ring[i] == s {
		t.ring[i] = nil
		return
	}
	delete(t.over, s.id)
}

// all lists the live streams.
func (t *table) all() []*Stream {
	dst := make([]*Stream, 0, t.live)
	for _, s := range t.ring {
		if s != nil {
			dst = append(dst, s)
		}
	}
	for _, s := range t.over {
		dst = append(dst, s)
	}
	return dst
}
