package train

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/redline-bench/redline/internal/clock"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// errEnded is why a train fails whose stream the server closed.
var errEnded = errors.New("the server closed the stream")

// slot carries one train at a time, on a stream that stays open while all goes well.
type slot struct {
	t   *transport
	api pb.GRPCInferenceServiceClient

	ends sync.Mutex // held while the sink is told something

	mu     sync.Mutex
	stream *stream // nil: none is open
	trip   *trip   // nil: idle
}

// stream is one stream of a slot.
type stream struct {
	pb.GRPCInferenceService_ModelStreamInferClient
	cancel context.CancelFunc
	over   chan struct{} // closed when nothing more will be read
	err    error         // why; valid once over is closed
}

// trip is a train under way.
type trip struct {
	call    *service.Call
	train   request
	answers int
	left    chan struct{}      // closed when all has been sent, or nothing more will be
	stream  *stream            // nil before it has one
	abort   context.CancelFunc // of a stream that is being opened for it
	cut     *service.Error
}

// send starts a trip. It is sent by a goroutine of its own: the caller may be the one that reads the answers.
func (s *slot) send(c *service.Call) {
	c.Err = nil
	r := &c.Rec
	r.Class, r.First, r.End, r.In, r.Out, r.Responses = record.OK, 0, 0, 0, 0, 0
	r.Sent = clock.Now()
	p := &trip{call: c, train: c.Req.(request), left: make(chan struct{})}
	s.mu.Lock()
	s.trip = p
	s.mu.Unlock()
	s.t.wg.Go(func() { s.carry(p) })
}

func (s *slot) carry(p *trip) {
	st, err := s.board(p)
	if err != nil {
		close(p.left)
		s.finish(p, s.t.failure(err), clock.Now())
		return
	}
	for _, m := range p.train {
		if err = st.Send(m); err != nil {
			break
		}
		p.call.Rec.Out += uint64(len(m.GetRawInputContents()[0]))
	}
	p.call.Rec.Written = clock.Now()
	close(p.left)
	if err != nil { // the reader knows why; it may have gone before this train came
		<-st.over
		s.finish(p, s.t.failure(st.err), clock.Now())
	}
}

// board gets the trip a stream. Opening one may wait for a connection, so no lock is held meanwhile.
func (s *slot) board(p *trip) (*stream, error) {
	s.mu.Lock()
	if p.stream = s.stream; p.stream != nil || p.cut != nil {
		defer s.mu.Unlock()
		if p.cut != nil {
			return nil, p.cut
		}
		return p.stream, nil
	}
	ctx, cancel := context.WithCancel(s.t.ctx)
	p.abort = cancel
	s.mu.Unlock()
	api, err := s.api.ModelStreamInfer(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	st := &stream{GRPCInferenceService_ModelStreamInferClient: api, cancel: cancel, over: make(chan struct{})}
	s.mu.Lock()
	s.stream, p.stream = st, st
	s.mu.Unlock()
	s.t.wg.Go(func() { s.read(st) })
	return st, nil
}

// read takes the answers of a stream until it ends.
func (s *slot) read(st *stream) {
	var err error
	for err == nil {
		var m *pb.ModelStreamInferResponse
		if m, err = st.Recv(); err == nil {
			s.answer(st, m, clock.Now())
		}
	}
	if errors.Is(err, io.EOF) {
		err = errEnded
	}
	st.cancel()
	st.err = err
	close(st.over)
	s.mu.Lock()
	if s.stream == st {
		s.stream = nil
	}
	p := s.trip
	mine := p != nil && p.stream == st
	s.mu.Unlock()
	if mine {
		s.finish(p, s.t.failure(err), clock.Now())
	}
}

// answer takes one message of the stream.
func (s *slot) answer(st *stream, m *pb.ModelStreamInferResponse, at int64) {
	s.mu.Lock()
	p := s.trip
	mine := p != nil && p.stream == st
	s.mu.Unlock()
	if !mine {
		return
	}
	id := m.GetInferResponse().GetId()
	if text := m.GetErrorMessage(); text != "" {
		s.leave(st) // what else is on its way belongs to a sequence that is lost
		s.finish(p, &service.Error{Op: opInfer, Class: record.Server, Text: service.Said(text), Addr: s.t.svc.target.URL}, at)
		return
	}
	if id != p.train[p.answers].GetId() {
		s.leave(st)
		fault := &service.Error{
			Op: opInfer, Class: record.Protocol, Addr: s.t.svc.target.URL,
			Text: "the answer to request " + id + " came where the one to " + p.train[p.answers].GetId() + " must come",
		}
		if !slices.ContainsFunc(p.train, func(m *pb.ModelInferRequest) bool { return m.GetId() == id }) {
			fault.Err = service.ErrOtherRequest
		}
		s.finish(p, fault, at)
		return
	}
	payload, err := encode(m.GetInferResponse())
	if err != nil {
		s.finish(p, &service.Error{Op: opInfer, Class: record.Protocol, Text: err.Error()}, at)
		return
	}
	r := &p.call.Rec
	if p.answers++; p.answers == 1 {
		r.First = at
	}
	r.In += uint64(len(payload))
	r.Responses++
	s.ends.Lock()
	s.t.sink.Response(p.call, payload, at, false)
	s.ends.Unlock()
	if p.answers == len(p.train) {
		s.finish(p, nil, at)
	}
}

// leave gives the stream up.
func (s *slot) leave(st *stream) {
	s.mu.Lock()
	if s.stream == st {
		s.stream = nil
	}
	s.mu.Unlock()
	st.cancel()
}

// cut ends the trip under way.
func (s *slot) cut(why *service.Error) {
	s.mu.Lock()
	p := s.trip
	if p == nil {
		s.mu.Unlock()
		return
	}
	p.cut = why
	st, abort := p.stream, p.abort
	s.mu.Unlock()
	if st != nil {
		st.cancel()
	} else if abort != nil {
		abort()
	}
}

// finish hands the call back, once.
func (s *slot) finish(p *trip, err *service.Error, at int64) {
	<-p.left
	s.mu.Lock()
	if s.trip != p {
		s.mu.Unlock()
		return
	}
	s.trip = nil
	if err != nil && p.cut != nil {
		err = p.cut
	}
	s.mu.Unlock()
	c := p.call
	c.Rec.End = at
	if c.Rec.First == 0 {
		c.Rec.First = at
	}
	if err != nil {
		c.Rec.Class, c.Err = err.Class, err
	}
	s.ends.Lock()
	defer s.ends.Unlock()
	s.t.sink.Done(c)
}
