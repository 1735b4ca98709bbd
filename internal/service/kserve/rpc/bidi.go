package rpc

import (
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// bidi is the sender of a slot whose calls go over ModelStreamInfer, on the stream of its track. A call is over with the
// response that is marked as its last one.
type bidi struct {
	track *track
	slot  *http2pool.Slot

	req   *request
	msg   h2.Message
	tail  []byte
	plain []byte

	begun atomic.Uint64 // counts calls
	busy  atomic.Bool   // a call is in flight: the reader may touch it
	vars  service.Vars  // of the call in flight, with an id in any case: responses are matched by it
	last  int64         // when the last response with an answer came

	// Under the track's mutex.
	on    *feed  // the stream that carries the call in flight; nil before it is sent
	place uint64 // its place in the order of the track
}

// Begin implements http2pool.Sender.
func (b *bidi) Begin(c *service.Call) {
	b.vars, b.last = c.Vars, 0
	b.track.name(&b.vars)
	b.req = c.Req.(*request)
	b.msg, b.tail, b.plain = b.req.message(&b.vars, b.tail, b.plain)
	c.Rec.Out = uint64(len(b.msg.Body) + len(b.msg.Tail))
	b.begun.Add(1)
	b.busy.Store(true)
}

// Open implements http2pool.Sender: the call goes onto the track's stream.
func (b *bidi) Open(c *h2.Conn) bool { return b.track.send(b, c) }

// Renew implements service.Renewer: the stream is not used again.
func (b *bidi) Renew() { b.track.renew() }

// Cancel implements http2pool.Sender. A call that has its stream to itself ends with it. Another one ends alone: the rest of
// its responses is dropped.
func (b *bidi) Cancel(cause error) {
	f, alone := b.track.where(b)
	if f == nil {
		return
	}
	if alone {
		f.conn.Cancel(&f.stream, cause)
		return
	}
	n := b.begun.Load()
	b.slot.Later(func() {
		if b.begun.Load() == n && b.busy.Load() {
			b.reply(b.slot.Failure(&neterr.Error{Kind: neterr.Canceled, Err: cause}), clock.Now())
		}
	})
}

// take judges one response to the call, which came at a time and lay unread for another.
func (b *bidi) take(text string, a *answer, reply []byte, size int, at, late int64) {
	rec := &b.slot.Call().Rec
	rec.Late = max(rec.Late, late)
	switch {
	case text != "":
		b.reply(&service.Error{Op: kserve.OpInfer, Class: record.Server, Addr: b.track.svc.at.Addr(), Text: service.Said(text)}, at)
	case !a.complete():
		b.reply(errCount, at)
	default:
		if err := checkSizes(reply, b.req.outputs != nil); err != nil {
			b.reply(err, at)
			return
		}
		rec.In += uint64(size)
		if err := b.slot.Take(size); err != nil {
			b.reply(err, at)
			return
		}
		b.response(a, reply, at)
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
	b.track.sink.Response(c, reply, at, empty)
	if final {
		b.reply(err, at)
	}
}

// reply ends the call.
func (b *bidi) reply(err *service.Error, at int64) {
	b.track.leave(b, err != nil)
	if err != nil {
		b.tail, b.plain = nil, nil // parts of them may still wait to be sent
	}
	if b.last != 0 {
		b.slot.Call().Rec.End = b.last
	}
	b.busy.Store(false)
	b.slot.Finish(err, at)
}
