package engine

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// slot is the place of one request in flight.
type slot struct {
	call     service.Call
	source   Source
	listener Listener // source, if it is one
	watcher  Watcher  // source, if it is one
	worker   int      // worker that failures of this slot are counted for
	shard    *record.Shard
	events   []record.Event // of the request in flight
	data     []byte

	since    atomic.Int64  // send time of the request in flight; 0 is parked, see also paused
	due      atomic.Int64  // due time of the request in flight; 0 if it is not part of the load
	sequence atomic.Uint64 // requests so far: slot and sequence name a request
	closings atomic.Uint64 // requests so far that only close a sequence
	cutting  atomic.Int32  // cuts in progress: the next request must not be sent before they are done
	sign     atomic.Int64  // when the server last gave a sign of life on this slot

	loop  *Closed                    // the closed loop that source was made for
	think func() time.Duration       // draws the next think time; nil is none
	ready int64                      // when the pause before the next request ends; 0 if it has no think time
	timer atomic.Pointer[time.Timer] // the latest pause

	job int // index of the job in flight of a paced loop
}

// paused stands in place of a send time: the slot is active, but has no request in flight.
const paused = -1

// grow makes n slots usable.
func (e *Engine) grow(ctx context.Context, n int) error {
	if err := e.tr.Grow(ctx, n); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.slots); i < n; i++ {
		lane := e.tr.Lane(i)
		for len(e.shards) <= lane {
			e.shards = append(e.shards, record.NewShard(e.cfg.Keep, e.collector.backlog))
		}
		s := &slot{shard: e.shards[lane], think: e.thinkTime(i)}
		s.call.Slot, s.call.Owner = i, s
		e.slots = append(e.slots, s)
	}
	return nil
}

// track makes the transport keep requests of slots i, i+n, i+2n, ... in order; see service.Tracker. Nothing may have been
// sent.
func (e *Engine) track(n int) error {
	t, ok := e.tr.(service.Tracker)
	if !ok {
		return errors.New("BUG: engine: this transport does not keep requests in order")
	}
	if e.tracks != n {
		e.tracks = n
		t.Tracks(n)
	}
	return nil
}

func (e *Engine) snapshot() []*slot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.slots
}

// use sets the source of the slot's next requests, and the worker that their failures are counted for.
func (s *slot) use(src Source, worker int) {
	s.source, s.worker, s.watcher = src, worker, nil
	if s.listener, _ = src.(Listener); s.listener != nil {
		s.watcher, _ = src.(Watcher)
	}
}

// send sends the slot's next request.
func (e *Engine) send(s *slot, due, now int64, flags uint8) {
	s.begin(due, now)
	s.call.Rec = record.Record{Due: due, Flags: flags}
	s.call.Err = nil
	s.source.Next(&s.call)
	e.tr.Send(&s.call)
}

// begin marks the slot as in flight. due is 0 for a request that is not part of the load.
func (s *slot) begin(due, now int64) {
	s.call.Sequence = s.sequence.Add(1)
	s.due.Store(due)
	s.since.Store(now)
	for s.cutting.Load() > 0 {
		runtime.Gosched()
	}
}

// sendClosing sends the request that closes what a source has open. It returns false if nothing is open.
func (e *Engine) sendClosing(s *slot, src Source) bool {
	c, ok := src.(Closer)
	if !ok {
		return false
	}
	now := clock.Now()
	s.call.Rec = record.Record{Due: now, Flags: record.Closing}
	s.call.Err = nil
	if !c.Close(&s.call) {
		return false
	}
	s.closings.Add(1)
	s.begin(0, now)
	e.tr.Send(&s.call)
	return true
}

// closeOrPark closes what the slot's source has open, or parks the slot.
func (e *Engine) closeOrPark(s *slot) {
	if !e.sendClosing(s, s.source) {
		e.park(s)
	}
}

// park makes the slot idle.
func (e *Engine) park(s *slot) {
	s.since.Store(0)
	e.active.Add(-1)
	e.notify()
}

// Cut ends a request with the given class, if it is still in flight, and reports whether it is. It never ends the slot's
// next request. A request that the transport does not have yet is not cut: call Cut again while it returns true. Cut must
// not be called from within Watch.
func (e *Engine) Cut(slot int, sequence uint64, class record.Class) bool {
	s := e.snapshot()[slot]
	s.cutting.Add(1) // blocks the next send; if that has begun, the sequence differs and nothing is cut
	defer s.cutting.Add(-1)
	if s.sequence.Load() != sequence || s.since.Load() <= 0 {
		return false
	}
	e.tr.Cut(slot, class)
	return true
}

// Wake makes a parked slot of a closed loop ask its source again for a request. It may be called from within Heard.
func (e *Engine) Wake(slot int) {
	if c, ok := e.current.Load().loop.(*Closed); ok && c.wake(e.snapshot()[slot]) {
		e.tr.Flush()
	}
}

// InFlight is the number of requests in flight. A paused slot has none.
func (e *Engine) InFlight() int {
	n := 0
	for _, s := range e.snapshot() {
		if s.since.Load() > 0 {
			n++
		}
	}
	return n
}

// Flight is a request in flight: its slot, its due time, and when the engine began to send it.
type Flight struct {
	Slot      int
	Due, Sent int64
}

// Flights lists the requests of the load that are in flight. A request that ends while the list is made may be missing; then
// its record is written.
func (e *Engine) Flights() []Flight {
	var out []Flight
	for _, s := range e.snapshot() {
		if f, ok := s.flight(); ok {
			out = append(out, f)
		}
	}
	return out
}

// flight reads the two times of a slot's request. Both are of one request if the send time has not changed meanwhile.
func (s *slot) flight() (Flight, bool) {
	for {
		sent := s.since.Load()
		due := s.due.Load()
		if s.since.Load() != sent {
			continue
		}
		return Flight{Slot: s.call.Slot, Due: due, Sent: sent}, sent > 0 && due > 0
	}
}

// maxKept is how many bytes of memory for responses an idle slot keeps: there may be thousands of slots.
const maxKept = 1 << 20

// clearResponses makes room for the responses of the next request.
func (s *slot) clearResponses() {
	s.events, s.data = s.events[:0], s.data[:0]
	if cap(s.data) > maxKept {
		s.data = nil
	}
	if cap(s.events) > maxKept/int(unsafe.Sizeof(record.Event{})) {
		s.events = nil
	}
}
