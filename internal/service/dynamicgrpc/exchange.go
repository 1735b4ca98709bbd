package dynamicgrpc

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// exchange is the protocol's side of one slot.
type exchange struct {
	svc  *Service
	sink service.Sink
}

// Render gives all messages of a request.
func (x *exchange) Render(c *service.Call) h2.Message {
	return h2.Message{Body: c.Req.(*request).body, Framed: true}
}

// Message takes one message of the answer.
func (x *exchange) Message(c *service.Call, msg []byte, at int64) {
	if !x.svc.target.OpaqueMessages {
		c.Rec.Responses++
		x.sink.Response(c, msg, at, false)
	}
}

// End takes the end of the stream. Where no messages were counted, the end itself is the response: a server may
// send none, and opaque messages are not counted.
func (x *exchange) End(c *service.Call, status int, text string, at int64) *service.Error {
	if why := c.Req.(*request).broken; why != nil {
		return &service.Error{Op: service.OpInfer, Class: record.Transport, Addr: x.svc.at.Addr(), Err: why}
	}
	// Without a method no call can succeed: a run measures how fast the server refuses.
	if status != 0 && x.svc.target.GRPCMethod != "" {
		err := x.svc.at.StatusError(status, text)
		err.Text = fmt.Sprintf("%s ended with status %s: %s", x.svc.target.GRPCMethod, codes.Code(status), err.Text)
		return err
	}
	if c.Rec.Responses == 0 {
		c.Rec.Responses = 1
		x.sink.Response(c, nil, at, false)
	}
	if c.Req.(*request).differs {
		return mismatch
	}
	return nil
}
