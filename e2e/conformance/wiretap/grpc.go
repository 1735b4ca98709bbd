package wiretap

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // so that compressed calls can be read
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
)

// GRPC starts a proxy for gRPC. It knows no service: messages are passed on as bytes.
func GRPC(ctx context.Context, to string, log *Log) (*Proxy, error) {
	conn, err := grpc.NewClient("passthrough:///"+to, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asBytes{}), grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := grpc.NewServer(grpc.ForceServerCodec(asBytes{}), grpc.StatsHandler(compression{}),
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return passCall(s, conn, log) }))
	go func() { _ = srv.Serve(ln) }()
	return &Proxy{Addr: ln.Addr().String(), stop: func() {
		srv.Stop()
		_ = conn.Close()
	}}, nil
}

func passCall(from grpc.ServerStream, conn *grpc.ClientConn, log *Log) error {
	method, _ := grpc.MethodFromServerStream(from)
	md, _ := metadata.FromIncomingContext(from.Context())
	r := Request{Method: path.Base(method), Metadata: md, Call: log.call()}
	if used, ok := from.Context().Value(compressionKey{}).(*string); ok {
		r.Compression = *used
	}
	ctx, cancel := context.WithCancel(from.Context())
	defer cancel()
	onward, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			var msg []byte
			switch err := from.RecvMsg(&msg); {
			case errors.Is(err, io.EOF):
				_ = onward.CloseSend()
				return
			case err != nil:
				cancel()
				return
			}
			seen := r
			seen.Message = msg
			log.add(&seen)
			if onward.SendMsg(&msg) != nil {
				return
			}
		}
	}()
	for {
		var msg []byte
		if err := onward.RecvMsg(&msg); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		log.add(&Request{Method: r.Method, Call: r.Call, Answer: true, Message: msg})
		if err := from.SendMsg(&msg); err != nil {
			return err
		}
	}
}

// asBytes is the codec that leaves messages as they are.
type asBytes struct{}

func (asBytes) Name() string { return "proto" }

func (asBytes) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (asBytes) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

// compression notes the encoding of each call, which is not a metadata for grpc.
type compression struct{}

type compressionKey struct{}

func (compression) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, compressionKey{}, new(string))
}

func (compression) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InHeader); ok {
		*ctx.Value(compressionKey{}).(*string) = in.Compression
	}
}

func (compression) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (compression) HandleConn(context.Context, stats.ConnStats) {}
