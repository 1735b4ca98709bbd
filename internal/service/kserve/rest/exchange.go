package rest

import (
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
)

// exchange is the protocol's side of one slot.
type exchange struct {
	sink    service.Sink
	scratch []byte // of the request in flight
	check   checker
}

// Render gives the bytes of a request.
func (x *exchange) Render(c *service.Call) (head, rest []byte, body int) {
	return c.Req.(*request).render(&x.scratch, &c.Vars)
}

// Head gathers every body: tensors are checked as a whole.
func (x *exchange) Head(*service.Call, *wire.Reply) bool { return false }

// Data is never called, since no body is streamed.
func (x *exchange) Data(*service.Call, []byte, int64) {}

// Reply checks a reply and hands it on.
func (x *exchange) Reply(c *service.Call, r *wire.Reply) *service.Error {
	if err := x.check.check(r, c.Req.(*request), &c.Vars); err != nil {
		return err
	}
	c.Rec.First, c.Rec.End, c.Rec.Responses = r.First, r.End, 1
	x.sink.Response(c, payload(r), r.End, false)
	return nil
}
