package refserver

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// anyMethod answers every gRPC method, so that the server can stand in for one whose methods only its clients know. It reads
// all messages of a request and sends one message of zeros.
type anyMethod struct {
	response []byte
	delay    time.Duration
	clock    *pause.Clock
	log      *reqlog.Log
}

func (a *anyMethod) options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.UnknownServiceHandler(a.answer), grpc.ForceServerCodecV2(rawCodec{})}
}

func (a *anyMethod) answer(_ any, stream grpc.ServerStream) error {
	var err error
	for err == nil {
		err = stream.RecvMsg(&[]byte{})
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	received := time.Now()
	if err := a.clock.Until(stream.Context(), received.Add(a.delay)); err != nil {
		return err
	}
	if err := stream.SendMsg(a.response); err != nil {
		return err
	}
	method, _ := grpc.MethodFromServerStream(stream) // the log can do without a name
	a.log.Add(received, reqlog.Entry{Model: method, Parent: reqlog.ParentOf(stream.Context())})
	return nil
}

// rawCodec sends bytes as they are and ignores those it receives.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
