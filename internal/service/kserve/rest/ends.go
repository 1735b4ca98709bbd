package rest

import (
	"errors"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h1"
)

var canceled = &service.Error{Op: kserve.OpInfer, Class: record.Canceled, Text: "the request was cut because the run ended"}

func kindOf(err error) h1.Kind {
	if e, ok := errors.AsType[*h1.Error](err); ok {
		return e.Kind
	}
	return h1.Lost
}

func (s *slot) cutError(class record.Class, cause error) *service.Error {
	if class == record.Canceled {
		return canceled
	}
	return &service.Error{
		Op: kserve.OpInfer, Class: class, Addr: s.t.cfg.Addr, Err: cause,
		Text: "no whole answer from " + s.t.cfg.Addr + " within the request's deadline",
	}
}

// Head gathers every body: tensors are checked as a whole.
func (s *slot) Head(*h1.Reply) bool { return false }

// Data is never called, since no body is streamed.
func (s *slot) Data([]byte, int64) {}

// Reply takes a reply: it belongs to the call in flight. It tells whether the next one is on its way already.
func (s *slot) Reply(r *h1.Reply) bool {
	c := s.call.Load()
	if c == nil { // nobody asked: what follows on this connection cannot be trusted
		s.drop()
		return false
	}
	s.settle()
	rec := &c.Rec
	rec.First, rec.End, rec.In = r.First, r.End, uint64(r.Size)
	err := s.check.check(r, c.Req.(*request), &c.Vars)
	if r.Close || err != nil && err.Class == record.Protocol {
		s.drop()
	}
	s.retried = nil
	if err != nil {
		if err.Class != record.Mismatch { // those are shared values
			err.Addr = s.t.cfg.Addr
		}
		s.fail(c, err)
		return s.call.Load() != nil
	}
	rec.Responses = 1
	s.t.sink.Response(c, payload(r), r.End, false)
	s.call.Store(nil)
	s.t.sink.Done(c)
	return s.call.Load() != nil
}

// drop takes the connection out of use, before anyone can send on it again, and ends Serve.
func (s *slot) drop() {
	s.conn.Store(nil)
	s.cur.Stop()
}

// fail ends the call in flight.
func (s *slot) fail(c *service.Call, err *service.Error) {
	if c.Rec.End == 0 {
		c.Rec.End = clock.Now()
	}
	s.retried = nil
	s.call.Store(nil)
	s.report(c, err)
}

func (s *slot) report(c *service.Call, err *service.Error) {
	c.Rec.Class, c.Err = err.Class, err
	s.t.sink.Done(c)
}
