package rpc

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// track is a stream of ModelStreamInfer that stays open from call to call, and its successors. Usually one slot has it
// to itself. Where the order of calls counts, as in a sequence, several slots share it: their requests go onto the
// stream in the order in which they are sent, whether or not the ones before have been answered.
type track struct {
	svc  *Service
	sink service.Sink

	mu    sync.Mutex
	cur   *feed            // the stream that is open, if any
	calls map[uint64]*bidi // in flight, by id
	sent  uint64           // calls so far
	next  uint64           // the id of the next call that has none
}

// feed is one stream of a track. Each is used once: the server may end a stream between two calls, and the end
// be reported when the next call is under way on another one.
type feed struct {
	track  *track
	conn   *h2.Conn
	stream h2.Stream
	calls  int // in flight on it, under the track's mutex
}

// errStreamEnd is why a call fails whose stream the server closed. The text is that of Triton's client.
var errStreamEnd = &service.Error{Op: kserve.OpInfer, Class: record.Transport, Code: grpcpool.Unavailable, Err: service.StreamClosed.With()}

// name gives a call an id where it has none.
func (t *track) name(v *service.Vars) {
	if v.HasID {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v.ID, v.HasID = t.next, true
	t.next++
}

// send puts a call onto the stream, which is opened where it is not. It returns false where c takes no more streams.
func (t *track) send(b *bidi, c *h2.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(b)
	if f := t.cur; f != nil {
		if f.conn != c { // the server leaves that connection
			t.retire(f)
		} else if t.add(b, f); c.Send(&f.stream, b.msg) {
			return true
		}
		t.drop(b)
	}
	f := &feed{track: t, conn: c}
	f.stream.Bind(f)
	t.cur = f
	t.add(b, f) // first: the answer may be here before Open returns
	if c.Open(&f.stream, t.svc.infer, b.msg) != nil {
		t.drop(b)
		t.cur = nil
		return false
	}
	return true
}

// add notes that the call is on the stream.
func (t *track) add(b *bidi, f *feed) {
	t.sent++
	b.on, b.place = f, t.sent
	f.calls++
	t.calls[b.vars.ID] = b
}

// drop forgets where the call is.
func (t *track) drop(b *bidi) {
	if b.on == nil {
		return
	}
	b.on.calls--
	b.on = nil
	if t.calls[b.vars.ID] == b {
		delete(t.calls, b.vars.ID)
	}
}

// retire lets no further call onto the stream, and ends it where none is left on it.
func (t *track) retire(f *feed) {
	if t.cur == f {
		t.cur = nil
	}
	if f.calls == 0 {
		f.conn.Cancel(&f.stream, errStreamEnd)
	}
}

// renew ends the stream; the next call opens another.
func (t *track) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cur != nil {
		t.retire(t.cur)
	}
}

// where is the stream that the call is on, and whether it is the only one there.
func (t *track) where(b *bidi) (f *feed, alone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b.on == nil {
		return nil, false
	}
	return b.on, b.on.calls == 1
}

// leave takes a call that has ended off its stream. One that failed with no other call beside it ends the stream:
// responses may still come for it, and parts of its request may still wait to be sent. A stream that has lost its
// last call after it was given up ends too.
func (t *track) leave(b *bidi, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := b.on
	if f == nil {
		return
	}
	t.drop(b)
	if f.calls == 0 && (failed || t.cur != f) {
		t.retire(f)
	}
}

// find is the call on the stream that an id belongs to. Without an id it is the one sent first.
func (f *feed) find(id []byte) *bidi {
	t := f.track
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(id) == 0 {
		if list := t.on(f); len(list) > 0 {
			return list[0]
		}
		return nil
	}
	n, ok := number(id)
	if !ok {
		return nil
	}
	if b := t.calls[n]; b != nil && b.on == f {
		return b
	}
	return nil // it belongs to a call that was given up
}

// on lists the calls on a stream in the order in which they were sent.
func (t *track) on(f *feed) []*bidi {
	var list []*bidi
	for _, b := range t.calls {
		if b.on == f {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *bidi) int { return cmp.Compare(a.place, b.place) })
	return list
}

// OnMessage implements h2.Handler: it takes one ModelStreamInferResponse.
func (f *feed) OnMessage(msg []byte, at int64) {
	text, reply, ok := unwrap(msg)
	a, valid := walk(reply)
	if !ok || !valid { // the response names no request
		for _, b := range f.close() {
			b.reply(errWire, at)
		}
		return
	}
	if b := f.find(a.id); b != nil && b.busy.Load() {
		b.take(text, &a, reply, len(msg), at, f.conn.Late())
	}
}

// close lets no further call onto the stream, and gives those that are on it.
func (f *feed) close() []*bidi {
	f.track.mu.Lock()
	defer f.track.mu.Unlock()
	if f.track.cur == f {
		f.track.cur = nil
	}
	return f.track.on(f)
}

// OnEnd implements h2.Handler: the stream is over, and the calls on it have failed.
func (f *feed) OnEnd(end h2.End, at int64) {
	for _, b := range f.close() {
		if !b.busy.Load() || end.Err != nil && b.slot.Call().Rec.First == 0 && b.slot.Resend(end.Err) {
			continue
		}
		err := errStreamEnd
		switch {
		case end.Err != nil:
			err = b.slot.Failure(end.Err)
		case end.Status != 0:
			err = f.track.svc.at.StatusError(end.Status, end.Message)
		}
		b.reply(err, at)
	}
}

// number reads the decimal digits of an id.
func number(id []byte) (n uint64, ok bool) {
	if len(id) > 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	return n, err == nil
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
