package httppool

import (
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
)

// Head passes the head of a reply on to the exchange, unless no request is in flight.
func (s *slot) Head(r *wire.Reply) bool {
	c := s.call.Load()
	s.streams = c != nil && s.ex.Head(c, r)
	if s.streams {
		s.settle()
	}
	return s.streams
}

// Data passes on a piece of a streamed body.
func (s *slot) Data(b []byte, at int64) {
	if c := s.call.Load(); c != nil {
		s.ex.Data(c, b, at)
	}
}

// Reply takes a reply: it belongs to the call in flight.
func (s *slot) Reply(r *wire.Reply) {
	s.streams = false
	c := s.call.Load()
	if c == nil { // no request is in flight: what follows on this connection cannot be trusted
		s.drop()
		return
	}
	s.settle()
	rec := &c.Rec
	rec.In, rec.Late = uint64(r.Size), r.Late
	err := s.ex.Reply(c, r)
	if rec.First == 0 {
		rec.First = r.First
	}
	if rec.End == 0 {
		rec.End = r.End
	}
	if r.Close || err != nil && err.Class == record.Protocol {
		s.drop()
	}
	s.retried = nil
	if class, cut := s.cutAs(); cut && err != nil { // the cut is why the reply is incomplete
		s.fail(c, service.CutError(class, s.t.cfg.Addr, err))
		return
	}
	if err != nil {
		if err.Class != record.Mismatch { // those are shared values
			err.Addr = s.t.cfg.Addr
		}
		s.fail(c, err)
		return
	}
	s.call.Store(nil)
	s.t.sink.Done(c)
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
