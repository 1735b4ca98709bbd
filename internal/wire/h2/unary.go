package h2

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Field is one pair of metadata. The name must be in lower case.
type Field = hpack.Field

// Request describes the headers of gRPC requests.
type Request struct {
	Authority string
	Secure    bool // over TLS
	Path      string
	Encoding  string // of the messages sent: "", gzip or deflate
	Agent     string // User-Agent
	Metadata  []Field
}

// Header makes the header of the requests.
func (r Request) Header() *Header {
	scheme := "http"
	if r.Secure {
		scheme = "https"
	}
	h := &Header{fields: []Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: scheme},
		{Name: ":path", Value: r.Path},
		{Name: ":authority", Value: r.Authority},
		{Name: "te", Value: "trailers"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: r.Agent},
		{Name: "grpc-accept-encoding", Value: "identity, deflate, gzip"},
	}}
	if r.Encoding != "" {
		h.fields = append(h.fields, Field{Name: "grpc-encoding", Value: r.Encoding})
	}
	h.fields = append(h.fields, r.Metadata...)
	return h
}

// StatusError is a gRPC status other than OK.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string { return fmt.Sprintf("gRPC status %d: %s", e.Code, e.Message) }

// Unary makes one call and waits for its answer. Serve must be running. The error is a *StatusError when the
// server answered with a status other than OK, else a *neterr.Error.
func (c *Conn) Unary(ctx context.Context, h *Header, msg []byte) ([]byte, error) {
	u := &unary{done: make(chan struct{})}
	u.stream.Bind(u)
	if err := c.Open(&u.stream, h, Message{Body: msg, Last: true}); err != nil {
		if own, ok := errors.AsType[*neterr.Error](err); ok {
			return nil, own
		}
		return nil, &neterr.Error{Kind: neterr.GoAway, Text: "the server asked to leave the connection", Unprocessed: true, Err: err}
	}
	c.Flush()
	stop := context.AfterFunc(ctx, func() { c.Cancel(&u.stream, context.Cause(ctx)) })
	defer stop()
	<-u.done
	switch {
	case u.end.Err != nil:
		return nil, u.end.Err
	case u.end.Status != 0:
		return nil, &StatusError{u.end.Status, u.end.Message}
	case u.answers != 1:
		return nil, violation(codeProtocol, "the call was answered with %d messages, want 1", u.answers)
	}
	return u.answer, nil
}

type unary struct {
	stream  Stream
	answer  []byte
	answers int
	end     End
	done    chan struct{}
}

func (u *unary) OnMessage(msg []byte, _ int64) {
	u.answers++
	u.answer = append(u.answer[:0], msg...)
}

func (u *unary) OnEnd(end End, _ int64) {
	u.end = end
	close(u.done)
}
