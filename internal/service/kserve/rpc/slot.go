package rpc

import (
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// maxResends bounds how often one call is sent again because servers left their connections.
const maxResends = 3

// slot carries one call at a time.
type slot struct {
	t      *transport
	lane   *lane
	stream h2.Stream
	conn   atomic.Pointer[h2.Conn] // where the stream is, for Cut

	call    *service.Call
	req     *request
	msg     h2.Message
	tail    []byte
	plain   []byte
	resends int
	answers int
	fault   *service.Error // what is wrong with the answer so far

	bidi *bidi // set when calls share one stream
}

func newSlot(t *transport, l *lane) *slot {
	s := &slot{t: t, lane: l}
	if t.svc.target.Streaming {
		s.bidi = &bidi{s: s}
	}
	s.stream.Bind(s)
	return s
}

// begin takes a call in. Whatever the reader may touch is set here, before the call can be answered.
func (s *slot) begin(c *service.Call, now int64) {
	s.call, s.resends, s.answers, s.fault = c, 0, 0, nil
	s.req = c.Req.(*request)
	c.Err = nil
	r := &c.Rec
	r.Class, r.First, r.End, r.In, r.Responses = record.OK, 0, 0, 0, 0
	r.Flags &^= record.EmptyFinal
	r.Sent = now
	v := &c.Vars
	if s.bidi != nil {
		v = s.bidi.begin(v)
	}
	s.msg, s.tail, s.plain = s.req.message(v, s.tail, s.plain)
	s.msg.Last = s.bidi == nil
	r.Out = uint64(len(s.msg.Body) + len(s.msg.Tail))
	r.Written = clock.Now()
}

// open sends the call on c. It returns false where c takes no more calls.
func (s *slot) open(c *h2.Conn) bool {
	if s.conn.Load() != c {
		s.conn.Store(c)
	}
	if s.bidi != nil {
		return s.bidi.open(c)
	}
	return c.Open(&s.stream, s.t.svc.infer, s.msg) == nil
}

// cancel ends the call in flight with a cause.
func (s *slot) cancel(cause error) {
	if s.bidi != nil {
		s.bidi.cancel(cause)
	} else if c := s.conn.Load(); c != nil {
		c.Cancel(&s.stream, cause)
	}
}

// OnMessage implements h2.Handler for calls with a stream of their own.
func (s *slot) OnMessage(msg []byte, at int64) {
	c := s.call
	c.Rec.In += uint64(len(msg))
	if s.answers++; s.answers > 1 {
		s.fault = errMany
		return
	}
	if s.fault = s.req.verify(msg, &c.Vars); s.fault == nil {
		c.Rec.Responses++
		s.t.sink.Response(c, msg, at, false)
	}
}

// OnEnd implements h2.Handler.
func (s *slot) OnEnd(end h2.End, at int64) {
	c := s.call
	if end.Err != nil && s.answers == 0 && s.resend(end.Err) {
		return
	}
	if end.Err == nil {
		s.lane.ends++
	}
	c.Rec.First = s.stream.First()
	err := s.fault
	switch {
	case end.Err != nil:
		err = failure(kserve.OpInfer, s.t.svc.target.URL, end.Err)
	case end.Status != 0:
		err = &service.Error{
			Op: kserve.OpInfer, Class: record.Server, Code: end.Status, Addr: s.t.svc.target.URL,
			Text: statusText(end.Status, end.Message),
		}
	case s.answers == 0:
		err = errNone
	}
	s.finish(err, at)
}

// resend sends the call once more where the server has not looked at it.
func (s *slot) resend(err error) bool {
	if s.resends >= maxResends || !retriable(err) {
		return false
	}
	s.resends++
	s.lane.send(s)
	// The goroutine that is here belongs to the connection that ended: it will not write for another one.
	if c := s.lane.conn.Load(); c != nil {
		c.Flush()
	}
	return true
}

// finish hands the call back.
func (s *slot) finish(err *service.Error, at int64) {
	c := s.call
	s.call = nil
	if c.Rec.First == 0 {
		c.Rec.First = at
	}
	if c.Rec.End == 0 {
		c.Rec.End = at
	}
	if c.Rec.Class = classOf(err); err != nil {
		c.Err = err
	}
	from := s.conn.Load()
	s.t.sink.Done(c)
	// A call that Done sent onto a newer connection than the one being read must be written here.
	if now := s.conn.Load(); now != from && now != nil {
		now.Flush()
	}
}
