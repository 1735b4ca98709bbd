package kserve

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/departure"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

type inferStream = grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]

// ModelStreamInfer serves requests as they arrive, each with as many responses as its model sends. Responses of models that
// send one response keep the order of the requests; decoupled models respond as soon as they can. An error ends its request,
// not the stream.
func (s *Server) ModelStreamInfer(stream inferStream) error {
	out := newOutbox()
	w := &streamWriter{server: s, stream: stream, out: out, left: s.follow(stream)}
	sent := make(chan error, 1)
	go func() { sent <- w.send() }()
	for {
		in, err := stream.Recv()
		var spoil func(proto.Message)
		if err == nil {
			spoil, err = s.Faults.RPC(stream.Context(), in.GetModelName())
		}
		switch {
		case errors.Is(err, io.EOF):
			out.end()
			return <-sent
		case err != nil:
			out.abort()
			<-sent
			return err
		}
		s.streamOne(stream.Context(), in, out, spoil)
	}
}

// streamOne passes one request of a stream to its model.
func (s *Server) streamOne(ctx context.Context, in *pb.ModelInferRequest, out *outbox, spoil func(proto.Message)) {
	received := time.Now()
	var r *infer.Request
	m, err := s.Models.Get(in.GetModelName(), in.GetModelVersion())
	if err == nil {
		r, err = s.request(ctx, in, received)
	}
	l := out.open(err != nil || !m.Decoupled())
	l.in, l.model, l.spoil, l.received, l.req = in, m, spoil, received, r
	if err == nil {
		r.Reply = l.put
		s.trace(r, m, "GRPC_WAITREAD", received)
		if err = m.Infer(r); err != nil {
			r.Trace.End()
		}
	}
	if err != nil {
		l.req = nil
		l.put(&infer.Response{Err: err, Final: true})
	}
}

// follow returns what records when messages of a stream were sent; nil if there is no log.
func (s *Server) follow(stream inferStream) *departure.Stream {
	from, ok := peer.FromContext(stream.Context())
	if !ok {
		return nil
	}
	left := s.Departures.Stream(from.Addr.String())
	if left == nil || stream.SetHeader(metadata.Pairs(departure.Header, left.Key)) != nil {
		return nil
	}
	return left
}

// streamWriter writes the responses of a stream, and logs when they left.
type streamWriter struct {
	server *Server
	stream inferStream
	out    *outbox
	left   *departure.Stream
	sent   int64 // messages
}

// send writes responses until the stream ends.
func (w *streamWriter) send() error {
	for l, r := w.out.next(); l != nil; l, r = w.out.next() {
		start := time.Now()
		if msg := w.server.streamed(l, r); msg != nil {
			l.spoil(msg)
			if w.sent++; w.server.Log.On() {
				w.note(l)
			}
			if err := w.stream.SendMsg(msg); err != nil {
				return err
			}
		}
		if l.req != nil {
			l.req.Trace.Mark("GRPC_SEND_START", start)
			l.req.Trace.Mark("GRPC_SEND_END", time.Now())
			if r.Final {
				l.req.Trace.End()
			}
		}
		if r.Final && l.model != nil {
			w.log(l)
		}
	}
	return nil
}

// note records when the next message is sent: now, or when the connection's writer reports it.
func (w *streamWriter) note(l *queued) {
	w.out.mu.Lock()
	i := len(l.times)
	l.times = append(l.times, time.Now().UnixNano())
	w.out.mu.Unlock()
	if w.left == nil {
		return
	}
	w.left.When(w.sent, func(at int64) {
		if at != 0 {
			w.out.mu.Lock()
			l.times[i] = at
			w.out.mu.Unlock()
		}
	})
}

// log logs a response when all of it has been sent.
func (w *streamWriter) log(l *queued) {
	replied := time.Now()
	add := func(int64) {
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		w.server.Log.Add(reqlog.Entry{Model: l.model.Name(), ID: l.in.GetId(), Received: l.received, Replied: replied, Events: l.times})
	}
	if w.left == nil || !w.server.Log.On() || w.sent == 0 {
		add(0)
		return
	}
	w.left.When(w.sent, add)
}
