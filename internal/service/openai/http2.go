package openai

import (
	"context"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// openStreams makes a connection pool over HTTP/2: requests are streams, and many share a connection.
func (s *Service) openStreams(ctx context.Context, sink service.Sink) (service.Transport, error) {
	cfg := http2pool.Config{
		Addr: s.at.Addr(), TLS: s.at.TLS(), Connections: s.target.Connections, Arrivals: true, MaxResponse: s.target.ResponseLimit(0), Held: s.at.Held(),
		LazyDial: s.target.LazyDial, Tracing: s.target.Tracing,
	}
	return http2pool.New(ctx, cfg, sink, func(slot *http2pool.Slot) http2pool.Sender {
		w := &stream{slot: slot, exchange: s.newExchange(sink)}
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

// stream is a slot over HTTP/2. The exchange judges responses, as over HTTP/1.1.
type stream struct {
	slot     *http2pool.Slot
	stream   h2.Stream
	exchange *exchange
	req      *request

	// The response at hand.
	reply   *wire.Reply // nil before its head has come
	streams bool        // its body is handed on piece by piece
	body    []byte
}

// Begin implements http2pool.Sender.
func (w *stream) Begin(c *service.Call) {
	w.req = c.Req.(*request)
	w.reply, w.streams = nil, false
	c.Rec.Out = uint64(w.req.size)
	w.slot.Trace(&w.stream, c)
}

// Open implements http2pool.Sender.
func (w *stream) Open(conn *h2.Conn) bool {
	return conn.Open(&w.stream, w.req.header, h2.Message{Body: w.req.payload, Framed: true, Last: true}) == nil
}

// Cancel implements http2pool.Sender.
func (w *stream) Cancel(cause error) { w.slot.Cancel(&w.stream, cause) }

// OnHead implements h2.HeadHandler.
func (w *stream) OnHead(r *wire.Reply) {
	w.reply, w.body = r, w.body[:0]
	w.streams = w.exchange.Head(w.slot.Call(), r)
}

// OnMessage implements h2.Handler: it takes a piece of the body.
func (w *stream) OnMessage(b []byte, at int64) {
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
func (w *stream) OnEnd(end h2.End, at int64) {
	c, r := w.slot.Call(), w.reply
	if end.Err != nil {
		w.exchange.stop()
		if r == nil && w.slot.Resend(end.Err) {
			return
		}
		if r != nil && c.Rec.First == 0 {
			c.Rec.First = r.First
		}
		w.slot.Finish(w.slot.Failure(end.Err), at)
		return
	}
	w.slot.Answered()
	r.Body = w.body
	c.Rec.In, c.Rec.Late = uint64(r.Size), r.Late
	err := w.exchange.Reply(c, r)
	if c.Rec.First == 0 {
		c.Rec.First = r.First
	}
	w.slot.Finish(err, at)
}
