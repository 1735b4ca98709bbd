package rest

import (
	"net/http"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/sse"
)

// streamed is the protocol's side of one slot whose requests go to infer_stream, which MLServer has: each response is the data of
// an event.
type streamed struct {
	exchange
	limit int64        // bytes of the responses to one request
	keeps bool         // the client keeps them until the request ends
	held  budget.Share // of what it keeps

	// The stream at hand.
	call   *service.Call
	events sse.Parser
	fault  *service.Error // what was wrong first; the rest is not looked at
	room   int64          // bytes that may still come
	framed []byte         // a response as the sink takes it
}

func newStreamed(sink service.Sink, limit int64, b *budget.Budget) *streamed {
	x := &streamed{exchange: exchange{sink: sink}, limit: limit, keeps: service.Keeps(sink), held: b.Share()}
	x.events.Max = int(min(limit, sse.DefaultMax))
	return x
}

// Head implements httppool.Exchange.
func (x *streamed) Head(c *service.Call, r *wire.Reply) bool {
	x.stop()
	if r.Status != http.StatusOK || !sse.IsEvents(r.Type) {
		return false
	}
	x.call, x.fault, x.room = c, nil, x.limit
	x.events.Reset()
	return true
}

// Data implements httppool.Exchange.
func (x *streamed) Data(_ *service.Call, b []byte, at int64) {
	if x.fault != nil {
		return
	}
	if x.room -= int64(len(b)); x.room < 0 {
		x.fault = bad("it is too large" + service.RaiseLimit)
		return
	}
	if x.keeps && !x.held.Hold(x.limit-x.room) {
		x.fault = bad(x.held.Over() + service.RaiseLimit)
		return
	}
	if err := x.events.Feed(b, at, x); err != nil && x.fault == nil {
		x.fault = bad(err.Error())
	}
}

// OnEvent implements sse.Handler: it takes one response.
func (x *streamed) OnEvent(e *sse.Event) {
	if x.room -= service.EventCost; x.fault != nil || len(e.Data) == 0 {
		return
	}
	x.framed = append(append(x.framed[:0], make([]byte, wire.Room)...), e.Data...)
	r := wire.Reply{Status: http.StatusOK, Number: -1, Body: x.framed[wire.Room:], Framed: x.framed}
	if x.fault = x.check.check(&r, x.call.Req.(*request), &x.call.Vars); x.fault != nil {
		return
	}
	rec := &x.call.Rec
	if rec.Responses == 0 {
		rec.First = e.At
	}
	rec.Responses++
	x.sink.Response(x.call, payload(&r), e.At, false)
}

// Reply implements httppool.Exchange: it judges a stream that has ended, or an answer that is none.
func (x *streamed) Reply(c *service.Call, r *wire.Reply) *service.Error {
	switch {
	case r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		err := x.exchange.Reply(c, r)
		err.Text = "the server has no streaming inference: leave --streaming out"
		return err
	case x.call == nil:
		return x.exchange.Reply(c, r)
	}
	defer x.stop()
	if err := x.events.End(r.End, x); err != nil && x.fault == nil {
		return bad(err.Error())
	}
	return x.fault
}

// stop lets go of the stream at hand.
func (x *streamed) stop() {
	x.call = nil
	x.held.Release()
}

// Close frees what a canceled stream has left.
func (x *streamed) Close() error {
	x.stop()
	return nil
}
