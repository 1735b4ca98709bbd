// Package infer holds the types that all parts of the reference server share: a request, its responses, and errors.
//
// A request enters through a protocol, is checked by its model, waits in a scheduler, is executed by a
// backend, and every response goes straight back through the request's Reply. Nothing here knows a protocol.
package infer

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/trace"
	"github.com/redline-bench/redline/internal/tensor"
)

// Request is one inference as a client requested it.
type Request struct {
	Model string
	ID    string

	Sequence Sequence
	Inputs   []tensor.Tensor
	Outputs  []Output // empty: all outputs
	// Binary is HTTP: outputs that are not named are sent as raw bytes behind the JSON.
	Binary bool
	// EmptyFinal wants the empty last response of a decoupled model.
	EmptyFinal bool

	// Received is when the server had received the whole request; all statistics start there.
	Received time.Time
	// Queued is when the scheduler accepted it.
	Queued time.Time
	// Batch is the size of the first dimension, or 0 where the model has no batching. The model's check sets it.
	Batch int

	// Context ends when the client has gone.
	Context context.Context
	// Trace records the request; nil for most requests.
	Trace *trace.Trace
	// Reply takes each response, in order, and never blocks. A response with Final set is the last.
	Reply func(*Response)
}

// Output is how the client wants to receive one output.
type Output struct {
	Name   string
	Binary bool // HTTP: raw bytes after the JSON

	// Region has a name when the data goes to shared memory, and only its size travels.
	Region Place
}

// Place is a piece of a region of shared memory.
type Place struct {
	Name         string
	Offset, Size uint64
}

// Response is one response to a request.
type Response struct {
	Outputs []tensor.Tensor
	Err     error
	// Final marks the last response. That of a decoupled model may be empty: it only marks the end.
	Final bool
	// Version is the model version of the response.
	Version string
	// Stages are the execution times of a final response; an ensemble adds up those of its steps.
	Stages Stages
}

// Empty reports whether a response only marks the end.
func (r *Response) Empty() bool { return r.Final && r.Err == nil && r.Outputs == nil }

// Stages are the parts of an execution.
type Stages struct{ Input, Infer, Output time.Duration }

// Sequence is the position of a request in a sequence of requests that share state.
type Sequence struct {
	ID    uint64
	Name  string // a sequence may be named by a string instead
	Start bool
	End   bool
}

// Key names the sequence, by string or by number; 0 if there is none.
func (s Sequence) Key() string { return cmp.Or(s.Name, strconv.FormatUint(s.ID, 10)) }

// Input finds an input by name; nil when the request does not carry it.
func (r *Request) Input(name string) *tensor.Tensor {
	for i := range r.Inputs {
		if r.Inputs[i].Name == name {
			return &r.Inputs[i]
		}
	}
	return nil
}

// Wants reports whether the client requested the output.
func (r *Request) Wants(name string) bool {
	return len(r.Outputs) == 0 || r.Output(name) != nil
}

// Output finds what the client wants of an output; nil when it did not name it.
func (r *Request) Output(name string) *Output {
	for i := range r.Outputs {
		if r.Outputs[i].Name == name {
			return &r.Outputs[i]
		}
	}
	return nil
}

// Done reports whether the client has gone.
func (r *Request) Done() bool { return r.Context != nil && r.Context.Err() != nil }

// Mailbox holds responses until they are taken, so that who replies never waits.
type Mailbox struct {
	mu   sync.Mutex
	bell *sync.Cond
	list []*Response
}

// NewMailbox makes an empty mailbox.
func NewMailbox() *Mailbox {
	b := &Mailbox{}
	b.bell = sync.NewCond(&b.mu)
	return b
}

// Put adds a response. It is a Reply.
func (b *Mailbox) Put(r *Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, r)
	b.bell.Signal()
}

// Take waits for a response.
func (b *Mailbox) Take() *Response {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.list) == 0 {
		b.bell.Wait()
	}
	r := b.list[0]
	b.list = b.list[1:]
	return r
}
