package rpc

import (
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpclane"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// bidi is the way of a slot whose calls go over ModelStreamInfer. A stream stays open from call to call; a
// call is over with the response that is marked as its last one.
type bidi struct {
	svc  *Service
	slot *grpclane.Slot
	sink service.Sink

	req   *request
	msg   h2.Message
	tail  []byte
	plain []byte

	busy atomic.Bool  // a call is in flight: the reader may touch it
	vars service.Vars // of the call in flight, with an id in any case: responses are matched by it
	last int64        // when the last response with an answer came
	next uint64       // the id of the next call that has none

	mu  sync.Mutex
	cur *feed // the stream that is open, if any
	on  *feed // the stream that carries the call in flight; nil before it is sent
}

// feed is one stream of a bidi. Each is used once: the server may end a stream between two calls, and the end
// be reported when the next call is under way on another one.
type feed struct {
	b      *bidi
	conn   *h2.Conn
	stream h2.Stream
}

// errStreamEnd is why a call fails whose stream the server closed. The text is that of Triton's client.
var errStreamEnd = &service.Error{Op: kserve.OpInfer, Class: record.Transport, Code: grpclane.Unavailable, Text: "Stream has been closed."}

// Begin implements grpclane.Way.
func (b *bidi) Begin(c *service.Call) {
	b.vars, b.last = c.Vars, 0
	if !c.Vars.HasID {
		b.vars.ID, b.vars.HasID = b.next, true
		b.next++
	}
	b.req = c.Req.(*request)
	b.msg, b.tail, b.plain = b.req.message(&b.vars, b.tail, b.plain)
	c.Rec.Out = uint64(len(b.msg.Body) + len(b.msg.Tail))
	b.mu.Lock()
	b.on = nil
	b.mu.Unlock()
	b.busy.Store(true)
}

// Open implements grpclane.Way: the call goes onto the stream, which is opened where it is not.
func (b *bidi) Open(c *h2.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.on = b.cur; b.on != nil {
		if b.on.conn != c { // the server leaves that connection
			b.on.conn.Cancel(&b.on.stream, errStreamEnd)
		} else if c.Send(&b.on.stream, b.msg) {
			return true
		}
	}
	f := &feed{b: b, conn: c}
	f.stream.Bind(f)
	b.on, b.cur = f, f
	if c.Open(&f.stream, b.svc.infer, b.msg) != nil {
		b.on, b.cur = nil, nil
		return false
	}
	return true
}

// Cancel implements grpclane.Way: the call ends together with its stream.
func (b *bidi) Cancel(cause error) {
	b.mu.Lock()
	f := b.on
	b.mu.Unlock()
	if f != nil {
		f.conn.Cancel(&f.stream, cause)
	}
}

// OnMessage implements h2.Handler: it takes one ModelStreamInferResponse.
func (f *feed) OnMessage(msg []byte, at int64) {
	b := f.b
	if !b.busy.Load() {
		return // a response beyond the last one of its call
	}
	text, reply, ok := unwrap(msg)
	a, valid := walk(reply)
	switch {
	case !ok || !valid:
		b.reply(errWire, at)
	case len(a.id) > 0 && !isNumber(a.id, b.vars.ID):
		return // belongs to a call that was given up
	case text != "":
		b.reply(&service.Error{Op: kserve.OpInfer, Class: record.Server, Addr: b.svc.at.Addr(), Text: text}, at)
	case len(a.id) == 0:
		b.reply(errID, at)
	case !a.complete():
		b.reply(errCount, at)
	default:
		b.slot.Call().Rec.In += uint64(len(msg))
		b.response(&a, reply, at)
	}
}

// response takes one good response; absent marks make it the last one.
func (b *bidi) response(a *answer, reply []byte, at int64) {
	b.slot.Answered()
	c := b.slot.Call()
	r := &c.Rec
	if r.First == 0 {
		r.First = at
	}
	final := a.final || !a.hasFinal
	empty := final && a.outputs == 0
	if empty {
		r.Flags |= record.EmptyFinal
	} else {
		b.last = at
		r.Responses++
	}
	var err *service.Error
	if final && b.req.expect != nil { // what a decoupled model sent before its end is not looked at
		err = b.req.compare(reply)
	}
	b.sink.Response(c, reply, at, empty)
	if final {
		b.reply(err, at)
	}
}

// reply ends the call. A stream on which one failed is not used again: responses may still come for it, and
// parts of its request may still wait to be sent.
func (b *bidi) reply(err *service.Error, at int64) {
	if err != nil {
		b.mu.Lock()
		f := b.cur
		b.cur = nil
		b.mu.Unlock()
		if f != nil {
			f.conn.Cancel(&f.stream, errStreamEnd)
		}
	}
	if b.last != 0 {
		b.slot.Call().Rec.End = b.last
	}
	b.busy.Store(false)
	b.slot.Finish(err, at)
}

// OnEnd implements h2.Handler: the stream is over, and a call on it has failed.
func (f *feed) OnEnd(end h2.End, at int64) {
	b := f.b
	b.mu.Lock()
	mine := b.on == f
	if b.cur == f {
		b.cur = nil
	}
	b.mu.Unlock()
	if !mine || !b.busy.Load() {
		return
	}
	if end.Err != nil && b.slot.Call().Rec.First == 0 && b.slot.Resend(end.Err) {
		return
	}
	err := errStreamEnd
	switch {
	case end.Err != nil:
		err = b.slot.Failure(end.Err)
	case end.Status != 0:
		err = b.svc.at.StatusError(end.Status, end.Message)
	}
	b.reply(err, at)
}

// unwrap takes a ModelStreamInferResponse apart.
func unwrap(b []byte) (text string, reply []byte, ok bool) {
	for len(b) > 0 {
		num, typ, _, val, rest, fine := field(b)
		if !fine || num <= streamReply && typ != bytesType {
			return "", nil, false
		}
		b = rest
		switch num {
		case streamError:
			text = string(val)
		case streamReply:
			reply = val
		}
	}
	return text, reply, true
}
