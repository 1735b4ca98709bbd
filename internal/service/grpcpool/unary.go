package grpcpool

import (
	"context"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// Unary is a kind's side of a slot whose calls are answered with one message each. It belongs to one slot.
type Unary interface {
	// Render gives what to send. It must stay as it is until the call has ended.
	Render(c *service.Call) h2.Message
	// Check judges the message of the answer; nil is a good one.
	Check(c *service.Call, msg []byte) *service.Error
}

// NewUnary is New for calls that are answered with one message each.
func NewUnary(ctx context.Context, srv *Server, sink service.Sink, h *h2.Header, unary func() Unary) (*http2pool.Transport, error) {
	return New(ctx, srv, sink, h, func() Exchange { return &single{Unary: unary(), srv: srv, sink: sink} })
}

// single is the exchange of a Unary.
type single struct {
	Unary
	srv     *Server
	sink    service.Sink
	answers int
	fault   *service.Error // what is wrong with the answer
}

// The failures of calls that are not answered with one message. They are values, so that judging allocates nothing.
var (
	errMany = &service.Error{Op: service.OpInfer, Class: record.Protocol, Text: "the call was answered with more than one message"}
	errNone = &service.Error{Op: service.OpInfer, Class: record.Protocol, Text: "the call was answered without a message"}
)

// Render implements Exchange.
func (x *single) Render(c *service.Call) h2.Message {
	x.answers, x.fault = 0, nil
	return x.Unary.Render(c)
}

// Message implements Exchange.
func (x *single) Message(c *service.Call, msg []byte, at int64) {
	if x.answers++; x.answers > 1 {
		x.fault = errMany
		return
	}
	if x.fault = x.Check(c, msg); x.fault == nil {
		c.Rec.Responses = 1
		x.sink.Response(c, msg, at, false)
	}
}

// End implements Exchange: it judges the call by its status, then by its answer.
func (x *single) End(_ *service.Call, status int, text string, _ int64) *service.Error {
	switch {
	case status != 0:
		return x.srv.StatusError(status, text)
	case x.answers == 0:
		return errNone
	}
	return x.fault
}
