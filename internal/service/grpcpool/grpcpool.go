// Package grpcpool carries calls over gRPC for the service kinds that use it, on the connections of package http2pool.
//
// Most kinds open a stream for each call: they give an Exchange, which makes the bytes and judges the answer. A kind whose calls
// share a stream gives a Sender to http2pool instead, with the Pool of its Server.
//
// Server is the address, its TLS, the metadata that every call carries, and calls made once in a while, on a connection of
// their own, so that they do not disturb the load.
package grpcpool

import (
	"context"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// Exchange is a kind's side of a slot whose calls have a stream each. It belongs to one slot, so it may keep
// buffers. Its methods are never called concurrently.
type Exchange interface {
	// Render gives what to send. It must stay as it is until the call has ended.
	Render(c *service.Call) h2.Message
	// Message takes one message of the answer, read at the given time; msg is valid until it returns.
	Message(c *service.Call, msg []byte, at int64)
	// End judges the whole answer by the gRPC status that ended it and the messages before; nil is a good one.
	End(c *service.Call, status int, text string, at int64) *service.Error
}

// New makes a pool with no slots, whose calls have a stream each, opened with the given header. exchange is called once for
// each slot.
func New(ctx context.Context, srv *Server, sink service.Sink, h *h2.Header, exchange func() Exchange) (*http2pool.Transport, error) {
	return http2pool.New(ctx, srv.Pool(), sink, func(s *http2pool.Slot) http2pool.Sender {
		w := &stream{slot: s, header: h, ex: exchange()}
		w.h2.Bind(w)
		return w
	})
}

// stream is the sender of calls that have a stream each.
type stream struct {
	slot   *http2pool.Slot
	header *h2.Header
	ex     Exchange
	h2     h2.Stream
	msg    h2.Message
	begun  bool // a message of the answer has come
	over   bool // it is above the limit: the rest is not looked at
}

// Begin implements http2pool.Sender.
func (w *stream) Begin(c *service.Call) {
	w.begun, w.over = false, false
	w.msg = w.ex.Render(c)
	w.msg.Last = true
	w.slot.Trace(&w.h2, c)
	c.Rec.Out = uint64(len(w.msg.Body) + len(w.msg.Tail))
}

// Open implements http2pool.Sender.
func (w *stream) Open(c *h2.Conn) bool { return c.Open(&w.h2, w.header, w.msg) == nil }

// Cancel implements http2pool.Sender.
func (w *stream) Cancel(cause error) { w.slot.Cancel(&w.h2, cause) }

// OnMessage implements h2.Handler.
func (w *stream) OnMessage(msg []byte, at int64) {
	w.begun = true
	c := w.slot.Call()
	c.Rec.In += uint64(len(msg))
	if w.over {
		return
	}
	if err := w.slot.Take(len(msg)); err != nil {
		w.over = true
		w.Cancel(err)
		return
	}
	w.ex.Message(c, msg, at)
}

// OnEnd implements h2.Handler.
func (w *stream) OnEnd(end h2.End, at int64) {
	s := w.slot
	c := s.Call()
	if end.Err != nil {
		if w.begun || !s.Resend(end.Err) {
			c.Rec.First = w.h2.First()
			s.Finish(s.Failure(end.Err), at)
		}
		return
	}
	s.Answered()
	c.Rec.First, c.Rec.Late = w.h2.First(), w.h2.Late()
	s.Finish(w.ex.End(c, end.Status, end.Message, at), at)
}
