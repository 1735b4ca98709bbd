package rpc

import (
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// unary is the protocol's side of a slot whose calls go over ModelInfer.
type unary struct {
	svc  *Service
	sink service.Sink

	tail    []byte
	plain   []byte
	answers int
	fault   *service.Error // what is wrong with the answer so far
}

// Render implements grpcpool.Exchange.
func (x *unary) Render(c *service.Call) (m h2.Message) {
	x.answers, x.fault = 0, nil
	m, x.tail, x.plain = c.Req.(*request).message(&c.Vars, x.tail, x.plain)
	return m
}

// Message implements grpcpool.Exchange.
func (x *unary) Message(c *service.Call, msg []byte, at int64) {
	if x.answers++; x.answers > 1 {
		x.fault = errMany
		return
	}
	if x.fault = c.Req.(*request).verify(msg, &c.Vars); x.fault == nil {
		c.Rec.Responses++
		x.sink.Response(c, msg, at, false)
	}
}

// End implements grpcpool.Exchange.
func (x *unary) End(_ *service.Call, status int, text string, _ int64) *service.Error {
	switch {
	case status != 0:
		return x.svc.at.StatusError(status, text)
	case x.answers == 0:
		return errNone
	}
	return x.fault
}
