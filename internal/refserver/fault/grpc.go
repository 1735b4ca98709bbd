package fault

import (
	"context"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// goAway is the HTTP/2 frame GOAWAY: streams in progress may end, new ones need another connection.
var goAway = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// garbage is a field that announces more bytes than follow: it is not valid protobuf.
var garbage = []byte{0x0a, 0xff}

// RPC applies the fault of a call before it is served. An error ends the call; spoil is to be applied to the response.
func (s *Set) RPC(ctx context.Context, model string) (spoil func(proto.Message), err error) {
	keep := func(proto.Message) {}
	if s == nil {
		return keep, nil
	}
	header := ""
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if v := md.Get(Header); len(v) > 0 {
			header = v[0]
		}
	}
	if header == "" && len(s.models) == 0 {
		return keep, nil
	}
	spec, err := s.find(model, header)
	if err != nil {
		return keep, status.Error(codes.InvalidArgument, err.Error())
	}
	if spec == nil {
		return keep, nil
	}
	return s.call(ctx, spec)
}

func (s *Set) call(ctx context.Context, spec *Spec) (spoil func(proto.Message), err error) {
	keep := func(proto.Message) {}
	switch spec.Kind {
	case Error:
		return keep, status.Error(codes.Internal, Text)
	case Delay, Slow:
		return keep, s.clock.For(ctx, spec.For)
	case Hang:
		<-ctx.Done()
		return keep, ctx.Err()
	case Malformed, Length:
		return func(m proto.Message) { m.ProtoReflect().SetUnknown(garbage) }, nil
	case Reset, Truncate:
		if c := s.connection(ctx); c != nil {
			reset(c)
		}
		return keep, status.Error(codes.Unavailable, Text)
	case GoAway:
		if c := s.connection(ctx); c != nil {
			_, _ = c.Write(goAway) // whole frames: the other writer sends whole frames too
		}
	case Refuse:
		s.refuses.Store(true)
	case Die:
		s.die()
	}
	return keep, nil
}

func (s *Set) connection(ctx context.Context) net.Conn {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	return s.connOf(p.Addr.String())
}
