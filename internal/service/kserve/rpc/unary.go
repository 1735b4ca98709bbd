package rpc

import (
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// unary is the protocol's side of a slot whose calls go over ModelInfer.
type unary struct {
	tail  []byte
	plain []byte
}

// Render implements grpcpool.Unary.
func (x *unary) Render(c *service.Call) (m h2.Message) {
	m, x.tail, x.plain = c.Req.(*request).message(&c.Vars, x.tail, x.plain)
	return m
}

// Check implements grpcpool.Unary.
func (x *unary) Check(c *service.Call, msg []byte) *service.Error {
	return c.Req.(*request).verify(msg, &c.Vars)
}
