package refserver

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// anyMethod answers gRPC methods that the server does not have, so that the server can stand in for one whose methods only
// its clients know. It reads all messages of a request and sends one message of zeros.
type anyMethod struct {
	response []byte
	delay    time.Duration
	clock    *pause.Clock
	log      *reqlog.Log
}

func (a *anyMethod) options() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.UnknownServiceHandler(a.answer), grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)})}
}

func (a *anyMethod) answer(_ any, stream grpc.ServerStream) error {
	for {
		err := stream.RecvMsg(&rawMessage{})
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	received := time.Now()
	if err := a.clock.Until(stream.Context(), received.Add(a.delay)); err != nil {
		return err
	}
	if err := stream.SendMsg(&rawMessage{a.response}); err != nil {
		return err
	}
	method, _ := grpc.MethodFromServerStream(stream) // the log can do without a name
	a.log.Add(method, "", received, time.Now())
	return nil
}

// rawMessage is a message that is not decoded.
type rawMessage struct{ data []byte }

// rawCodec sends raw messages as they are and ignores those it receives. All other messages are protobuf.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(*rawMessage); ok {
		return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
	}
	return c.CodecV2.Marshal(v)
}

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*rawMessage); ok {
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}
