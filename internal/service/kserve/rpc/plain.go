package rpc

import (
	"google.golang.org/grpc/codes"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// plain is the protocol's side of a slot whose calls go over a ModelStreamInfer each, for servers that are not Triton: they do
// not mark the last response to a request, so the end of the stream is the end of the responses.
type plain struct {
	unary
	svc   *Service
	sink  service.Sink
	fault *service.Error // what was wrong first
}

// Render implements grpcpool.Exchange.
func (x *plain) Render(c *service.Call) h2.Message {
	x.fault = nil
	return x.unary.Render(c)
}

// Message implements grpcpool.Exchange. MLServer sends responses as they are, other servers wrap them as Triton does.
func (x *plain) Message(c *service.Call, msg []byte, at int64) {
	if x.fault != nil {
		return
	}
	reply := msg
	if text, inner, ok := unwrap(msg); ok && wrapped(msg) {
		if text != "" {
			x.fault = &service.Error{Op: kserve.OpInfer, Class: record.Server, Addr: x.svc.at.Addr(), Text: service.Said(text)}
			return
		}
		reply = inner
	}
	if x.fault = x.Check(c, reply); x.fault != nil {
		return
	}
	a, _ := walk(reply) // it was checked
	empty := a.final && a.outputs == 0
	if empty {
		c.Rec.Flags |= record.EmptyFinal
	} else {
		c.Rec.Responses++
	}
	x.sink.Response(c, reply, at, empty)
}

// End implements grpcpool.Exchange.
func (x *plain) End(_ *service.Call, status int, text string, _ int64) *service.Error {
	switch {
	case status == int(codes.Unimplemented):
		err := x.svc.at.StatusError(status, text)
		err.Text = "the server has no streaming inference: leave --streaming out (" + err.Text + ")"
		return err
	case status != 0:
		return x.svc.at.StatusError(status, text)
	}
	return x.fault
}

// wrapped tells whether a message is a ModelStreamInferResponse, and not the ModelInferResponse in it.
func wrapped(msg []byte) bool {
	for len(msg) > 0 {
		num, _, _, _, rest, ok := field(msg)
		if !ok || num > streamReply {
			return false
		}
		msg = rest
	}
	return true
}
