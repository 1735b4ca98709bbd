package openai

import (
	"context"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpclane"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// openStreams makes a transport over HTTP/2: calls are streams, and many share a connection.
func (s *Service) openStreams(ctx context.Context, sink service.Sink) (service.Transport, error) {
	srv := grpclane.NewPlainServer(s.at.Addr(), s.at.TLS(), s.target.Connections, s.target.ResponseLimit(0), s.at.Held())
	return grpclane.NewWays(ctx, srv, sink, func(slot *grpclane.Slot) grpclane.Way {
		w := &way{slot: slot, exchange: s.newExchange(sink)}
		w.stream.Bind(w)
		return w
	})
}

// mostHeaders is how many headers are remembered.
const mostHeaders = 1024

// header is the header of the requests whose body has the given size. Requests of one size share one, so that
// packing it costs nothing; one with headers of its own has its own.
func (s *Service) header(size int, own []service.Header) *h2.Header {
	if len(own) > 0 {
		fields := append(s.at.Fields("POST", s.path, jsonType), h2.Field{Name: "content-length", Value: strconv.Itoa(size)})
		for _, h := range own {
			fields = append(fields, h2.Field{Name: strings.ToLower(h.Name), Value: h.Value, Once: true})
		}
		return h2.NewHeader(fields...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.headers[size]; h != nil {
		return h
	}
	if s.headers == nil || len(s.headers) >= mostHeaders { // prompts of all lengths must not pile up
		s.headers = make(map[int]*h2.Header)
	}
	fields := s.at.Fields("POST", s.path, jsonType)
	h := h2.NewHeader(append(fields, h2.Field{Name: "content-length", Value: strconv.Itoa(size)})...)
	s.headers[size] = h
	return h
}

// way is a slot over HTTP/2. What answers mean is the exchange's affair, as over HTTP/1.1.
type way struct {
	slot     *grpclane.Slot
	stream   h2.Stream
	exchange *exchange
	req      *request

	// The answer at hand.
	reply   wire.Reply
	begun   bool // its head has come
	streams bool // its body is handed on piece by piece
	body    []byte
}

// Begin implements grpclane.Way.
func (w *way) Begin(c *service.Call) {
	w.req = c.Req.(*request)
	w.begun, w.streams = false, false
	c.Rec.Out = uint64(w.req.size)
}

// Open implements grpclane.Way.
func (w *way) Open(conn *h2.Conn) bool {
	return conn.Open(&w.stream, w.req.header, h2.Message{Body: w.req.payload, Framed: true, Last: true}) == nil
}

// Cancel implements grpclane.Way.
func (w *way) Cancel(cause error) { w.slot.Cancel(&w.stream, cause) }

// OnHead implements h2.HeadHandler.
func (w *way) OnHead(h h2.Head, at int64) {
	w.begun = true
	w.reply = wire.Reply{Status: h.Status, Type: append(w.reply.Type[:0], h.Type...), Encoding: append(w.reply.Encoding[:0], h.Encoding...), Retry: append(w.reply.Retry[:0], h.Retry...), First: at}
	w.body = w.body[:0]
	w.streams = w.exchange.Head(w.slot.Call(), &w.reply)
}

// OnMessage implements h2.Handler: it takes a piece of the body.
func (w *way) OnMessage(b []byte, at int64) {
	w.reply.Size += int64(len(b))
	if w.streams {
		w.exchange.Data(w.slot.Call(), b, at)
		return
	}
	if !w.exchange.held.Hold(int64(2 * (len(w.body) + len(b)))) { // the body may be copied while it grows
		w.Cancel(w.exchange.noRoom())
		return
	}
	w.body = append(w.body, b...)
}

// OnEnd implements h2.Handler.
func (w *way) OnEnd(end h2.End, at int64) {
	c := w.slot.Call()
	if end.Err != nil {
		w.exchange.stop()
		if !w.begun && w.slot.Resend(end.Err) {
			return
		}
		if w.begun && c.Rec.First == 0 {
			c.Rec.First = w.reply.First
		}
		w.slot.Finish(w.slot.Failure(end.Err), at)
		return
	}
	w.slot.Answered()
	w.reply.Body, w.reply.End = w.body, at
	c.Rec.In, c.Rec.Late = uint64(w.reply.Size), w.stream.Late()
	err := w.exchange.Reply(c, &w.reply)
	if c.Rec.First == 0 {
		c.Rec.First = w.reply.First
	}
	w.slot.Finish(err, at)
}
