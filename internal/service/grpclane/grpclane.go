// Package grpclane carries calls over gRPC for the service kinds that speak it: connections, the goroutines that
// read them, and what to do when one is lost.
//
// Slots lie on lanes. A lane is one HTTP/2 connection and the goroutine that reads it, and many slots share one,
// as streams do; so a closed loop of many calls in flight costs one read and one write for a whole batch. A lost
// connection is made again by its lane, while calls wait for it or fail with the reason.
//
// What a call is on the wire is the kind's affair. Most kinds open a stream for each call: they give an Exchange,
// which makes the bytes and judges the answer. A kind whose calls share a stream gives a Way, which does all of it.
//
// Server is the other half: the address, its TLS, the metadata that every call carries, and calls made once in a
// while, on a connection of their own, so that they never stand in the way of the load.
package grpclane

import (
	"github.com/redline-bench/redline/internal/service"
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

// Way is a kind's side of a slot, where an Exchange does not do. It makes its own streams, reports what comes on
// them through the methods of its Slot, and is told what to do by the lane.
type Way interface {
	// Begin takes a call in. Whatever the reader may touch is set here, before the call can be answered.
	Begin(c *service.Call)
	// Open sends the call on a connection. It returns false where that takes no more calls.
	Open(conn *h2.Conn) bool
	// Cancel ends the call in flight, where it has been sent, with a cause.
	Cancel(cause error)
}
