package served

import (
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/telemetry"
)

// GRPC gives the spans of a gRPC server's requests to the sink. A stream is one request: its messages have no metadata of their own.
func (s Sink) GRPC() []grpc.ServerOption {
	if s == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream)}
}

func (s Sink) unary(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	span, ok := s.start(ctx)
	if !ok {
		return next(ctx, in)
	}
	out, err := next(ctx, in)
	if err == nil {
		span.respond()
	}
	s.endRPC(span, info.FullMethod, int(status.Code(err)))
	return out, err
}

func (s Sink) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	span, ok := s.start(stream.Context())
	if !ok {
		return next(server, stream)
	}
	watched := &watchedStream{ServerStream: stream, span: span}
	err := next(server, watched)
	watched.mu.Lock()
	defer watched.mu.Unlock()
	s.endRPC(watched.span, info.FullMethod, int(status.Code(err)))
	return err
}

func (s Sink) start(ctx context.Context) (request, bool) {
	if list := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(list) == 1 {
		return s.begin(list[0])
	}
	return request{}, false
}

// endRPC gives the span of a gRPC request to the sink when its server has ended with a status code.
func (s Sink) endRPC(span request, method string, code int) {
	span.finish()
	span.Name, span.Version, span.RPC, span.Status, span.Failed = strings.TrimPrefix(method, "/"), "2", true, code, code != 0
	s(telemetry.Served(span))
}

// watchedStream notes when messages are sent.
type watchedStream struct {
	grpc.ServerStream
	mu   sync.Mutex
	span request
}

// SendMsg implements grpc.ServerStream.
func (w *watchedStream) SendMsg(m any) error {
	w.mu.Lock()
	w.span.respond()
	w.mu.Unlock()
	return w.ServerStream.SendMsg(m)
}
