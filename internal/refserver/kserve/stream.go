package kserve

import (
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/conns"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

type inferStream = grpc.BidiStreamingServer[pb.ModelInferRequest, pb.ModelStreamInferResponse]

// ModelStreamInfer serves requests as they arrive, each with as many responses as its model sends. Responses of models that
// send one response keep the order of the requests; decoupled models respond as soon as they can. An error ends its request,
// not the stream.
func (s *Server) ModelStreamInfer(stream inferStream) error {
	w := &streamWriter{Server: s, stream: stream, left: s.follow(stream)}
	before := make(chan struct{})
	close(before)
	for {
		in, err := stream.Recv()
		var spoil func(proto.Message)
		if err == nil {
			spoil, err = s.Faults.RPC(stream.Context(), in.GetModelName())
		}
		switch {
		case errors.Is(err, io.EOF):
			w.running.Wait()
			return w.err
		case err != nil:
			w.mu.Lock()
			w.err = err // nothing more is sent
			w.mu.Unlock()
			return err
		}
		before = w.serve(in, spoil, before)
	}
}

// follow returns what records when messages of a stream were sent; nil if there is no log.
func (s *Server) follow(stream inferStream) *conns.Stream {
	from, ok := peer.FromContext(stream.Context())
	if !ok {
		return nil
	}
	left := s.Conns.Stream(from.Addr.String())
	if left == nil || stream.SetHeader(metadata.Pairs(conns.Header, left.Key)) != nil {
		return nil
	}
	return left
}

// streamWriter writes the responses of a stream, and logs when they left.
type streamWriter struct {
	*Server
	stream  inferStream
	running sync.WaitGroup

	left *conns.Stream

	mu   sync.Mutex
	sent int64 // messages
	err  error // ends the stream
}

// streamed is one request of a stream.
type streamed struct {
	in        *pb.ModelInferRequest
	req       *infer.Request // nil if the model never saw the request
	model     *model.Model
	received  time.Time
	spoil     func(proto.Message)
	responses *infer.Mailbox
	sent      int // responses
	times     conns.Times
}

// serve passes a request to its model, and sends the responses as they come. The response of a model that sends one waits until before
// is closed; then after is closed.
func (w *streamWriter) serve(in *pb.ModelInferRequest, spoil func(proto.Message), before chan struct{}) (after chan struct{}) {
	q := &streamed{in: in, received: time.Now(), spoil: spoil, responses: infer.NewMailbox(), times: conns.Times{Stream: w.left}}
	var err error
	if q.model, err = w.Models.Get(in.GetModelName(), in.GetModelVersion()); err == nil {
		q.req, err = w.request(w.stream.Context(), in, q.received)
	}
	ordered := err != nil || !q.model.Decoupled()
	if err == nil {
		q.req.Reply = q.responses.Put
		w.trace(q.req, "GRPC_WAITREAD", q.received)
		if err = q.model.Infer(q.req); err != nil {
			q.req.Trace.End()
		}
	}
	if err != nil {
		q.req = nil
		q.responses.Put(&infer.Response{Err: err, Final: true})
	}
	if after = before; ordered {
		after = make(chan struct{})
	}
	w.running.Go(func() {
		if ordered {
			<-before
			defer close(after)
		}
		for last := false; !last; {
			resp := q.responses.Take()
			last = resp.Final
			w.send(q, resp)
		}
		if replied := time.Now(); q.model != nil {
			q.times.Told(func(at []int64) {
				w.Log.Add(q.received, reqlog.Entry{Model: q.model.Name(), ID: in.GetId(), Replied: replied.UnixNano(), Events: at})
			})
		}
	})
	return after
}

// send sends a response.
func (w *streamWriter) send(q *streamed, resp *infer.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := time.Now()
	if msg := w.streamed(q, resp); msg != nil && w.err == nil {
		q.spoil(msg)
		if w.sent++; w.Log.On() {
			q.times.Mark(q.sent, q.sent+1, w.sent)
			q.sent++
		}
		w.err = w.stream.SendMsg(msg)
	}
	if q.req != nil {
		q.req.Trace.Mark("GRPC_SEND_START", start)
		q.req.Trace.Mark("GRPC_SEND_END", time.Now())
		if resp.Final {
			q.req.Trace.End()
		}
	}
}
