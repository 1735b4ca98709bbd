// Package service is the contract between the engine and a kind of server.
//
// A Service describes the model, prepares requests as wire bytes, opens a Transport that carries them, and
// reads what the server counted. Each kind lives in a folder of its own below this one; none imports another,
// nor the engine. The engine knows only what stands here, so it names no protocol.
//
// The hot path is Transport.Send and Sink.Response/Done. Nothing on it encodes or allocates after warm-up:
// a Request is bytes made once, and Vars are the few numbers that differ from send to send.
package service

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/tensor"
)

// Service is one kind of server at one address.
type Service interface {
	// Describe asks the server for the model. Errors are of type *Error.
	Describe(ctx context.Context) (*Model, error)
	// Prepare turns the inputs of one request into a Request for Transport.Send. It is called before the load
	// starts, once for each distinct request.
	Prepare(in Inputs) (Request, error)
	// Open makes a transport with no slots. The sink's methods are called from the transport's goroutines.
	Open(ctx context.Context, sink Sink) (Transport, error)
	// Outputs decodes the payload of one response, as handed to Sink.Response, into tensors. It is called by
	// exports, off the hot path.
	Outputs(payload []byte) ([]tensor.Tensor, error)
	Close() error
}

// StatsReader is implemented by services whose server counts inferences.
type StatsReader interface {
	// Stats returns the cumulative counters of the model, and of its composing models.
	Stats(ctx context.Context) ([]ModelStats, error)
}

// Stager is implemented by services whose prepared requests may refer to something that must be at the server first,
// as shared memory.
type Stager interface {
	// Stage puts it there. It is called once, after the last Prepare and before Open; Close takes it back.
	Stage(ctx context.Context) error
}

// Remarker is implemented by services that have something to tell the user about the requests that they prepared.
type Remarker interface {
	// Remarks are lines for the user.
	Remarks() []string
}

// Messenger is implemented by services whose responses are messages of a conversation.
type Messenger interface {
	Service
	// Message appends the message that the responses of one call carry, as a JSON object, to dst.
	Message(dst []byte, events []record.Event, responses []byte) ([]byte, error)
}

// Inputs is one request before it is encoded.
type Inputs struct {
	Tensors []tensor.Tensor // with the batch dimension in Shape where the model batches
	Outputs []string        // names of the outputs to ask for
	// Expect, when not nil, is compared with each final response: a difference is a record.Mismatch.
	Expect []tensor.Tensor
	// Step is kept in the record, to find the inputs again.
	Step uint32
	// Stream and First are the data stream and the step in it that the batch starts with. They name shared memory.
	Stream, First int
	// Headers are further headers of this request alone. The kind openai sends them; others have no place for them.
	Headers []Header
}

// Header is a header of one request.
type Header struct{ Name, Value string }

// Request is a prepared request, opaque to the engine.
type Request any

// Car is one request of a train: several requests of a sequence that are one call, sent without waiting for answers in between.
type Car struct {
	Inputs     Inputs
	ID         uint64 // correlation id
	Name       string // correlation id as text; used where it is not empty
	Start, End bool
}

// Vars are the parts of a request that differ from send to send. They are written into reserved places of
// the prepared bytes.
type Vars struct {
	ID      uint64 // the request id, sent in decimal when HasID
	HasID   bool
	SeqID   uint64 // sequence id; 0 is none
	SeqName string // the sequence id as text, sent instead of SeqID when not empty; kserve alone takes it
	Start   bool
	End     bool
	Present bool // sequence parameters are sent at all
}

// Call is one request in flight. The engine owns it and reuses it, one per slot; the transport fills in the
// times and the outcome between Send and Done.
type Call struct {
	Slot int
	// Sequence counts the requests of the slot: slot and sequence name one request.
	Sequence uint64
	Req      Request
	Vars     Vars
	// Rec collects what will be recorded. The engine sets Due, Step and the flags; the transport sets Sent,
	// Written, First, End, In, Out, Responses and Class.
	Rec record.Record
	// Err is the failure's text where Rec.Class is not OK. It is set by the transport.
	Err error
	// Owner is the engine's own; the transport leaves it alone.
	Owner any
}

// Transport carries calls. Slot s belongs to the calls with Call.Slot == s: at most one is in flight on it.
type Transport interface {
	// Grow makes slots 0..n-1 usable: it dials what is missing and returns the first error. It may be called
	// while calls are in flight.
	Grow(ctx context.Context, n int) error
	// Send puts c on the wire and never waits for the answer. Exactly one Done follows, also when sending
	// fails. It may be called from within Done of the same slot, where writes are gathered into one system call.
	Send(c *Call)
	// Flush pushes out what Send gathered when it was called outside of Done. The engine calls it after a burst.
	Flush()
	// Cut ends the call in flight on the slot, if any, with the given class; Done follows.
	Cut(slot int, class record.Class)
	// Lane is the index of the goroutine that reports the slot's ends: calls of one lane never end concurrently.
	Lane(slot int) int
	// Close cuts everything and waits for the transport's goroutines.
	Close() error
}

// Tracker is implemented by transports that can keep calls of different slots in order.
type Tracker interface {
	// Tracks puts slots i, i+n, i+2n, ... on track i, for each i below n. Calls of one track reach the server in the
	// order of their Sends, where the protocol has a way for that: on one stream. It is called before the first Grow.
	Tracks(n int)
}

// Multiplexer is implemented by transports whose connections carry many calls at once.
type Multiplexer interface {
	// Connections returns the number of connections, and how long the busiest of them has handled responses and requests until
	// now, without the time in which it waited.
	Connections() (n int, busiest time.Duration)
}

// Renewer is implemented by transports whose streams may outlive a call.
type Renewer interface {
	// Renew has the next calls begin on new streams: their ids may be those of earlier calls, whose late answers must
	// not be taken for theirs. Nothing may be in flight.
	Renew()
}

// Sink receives what happens to calls, on the transport's goroutines.
type Sink interface {
	// Response reports one response message of c, read at time at. The payload is valid until it returns.
	// empty marks a final response that carries no outputs.
	Response(c *Call, payload []byte, at int64, empty bool)
	// Done reports the end of c. After Done the call belongs to the engine again, which may Send it anew at once.
	Done(c *Call)
}
