//go:build native && cgo && linux

package tritoncapi

/*
#cgo noescape rl_send
#cgo nocallback rl_send
#cgo noescape rl_take
#cgo nocallback rl_take
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// coresPerLane and maxLanes say how many goroutines fetch answers. One of them carries far more than a hundred
// thousand requests a second, and the fewer there are, the more answers each finds at a time.
const (
	coresPerLane = 4
	maxLanes     = 8
)

// closeWait is how long Close waits for answers to calls that were cut, and for goroutines; patience is how many times the
// longest answer so far it waits beyond that.
const (
	closeWait = 2 * time.Second
	patience  = 3
)

// transport is a growing row of slots, dealt out to lanes.
type transport struct {
	sink    service.Sink
	keep    bool
	regions regions
	toClock int64 // from CLOCK_MONOTONIC to clock.Now
	lanes   []*lane
	closing atomic.Bool
	hung    atomic.Bool   // Triton did not answer in the time that Close gives it
	wait    time.Duration // that time
	wg      sync.WaitGroup

	mu    sync.Mutex // held by Grow
	slots atomic.Pointer[[]*slot]
}

// lane is a queue of the shim's and the goroutine that empties it.
type lane struct {
	t       *transport
	c       *C.rl_lane
	calls   atomic.Int64 // sent and not yet ended
	longest atomic.Int64 // nanoseconds that an answer took
	payload []byte
}

// slot is a place for one call. The call that it holds has the number seq; events of earlier ones come late
// and are dropped.
type slot struct {
	lane *lane
	c    *C.rl_slot
	call atomic.Pointer[service.Call]
	seq  atomic.Uint64
	err  *service.Error // what is known of the call's failure before its end; the lane's
}

func (s *Service) newTransport(sink service.Sink) (*transport, error) {
	t := &transport{sink: sink, keep: true, regions: s.regions, toClock: clockOffset(), wait: closeWait}
	if k, ok := sink.(service.Keeper); ok { // a sink that keeps no payloads is given none, which saves a copy
		t.keep = k.Keeps()
	}
	t.slots.Store(&[]*slot{})
	version := s.version(s.target.Model, s.target.Version)
	look := C.int(0) // outputs on a GPU are fetched from there only where somebody looks at them
	if t.keep || s.checks {
		look = 1
	}
	for range min(max(runtime.GOMAXPROCS(0)/coresPerLane, 1), maxLanes) {
		var r C.rl_result
		with(s.target.Model, func(c *C.char) { r = C.rl_lane_new(s.server.s, c, C.int64_t(version), s.gpu.handle(), look) })
		if err := failure(r.error); err != nil {
			return nil, &service.Error{Op: kserve.OpConnect, Class: record.Server, Text: err.Error()}
		}
		t.lanes = append(t.lanes, &lane{t: t, c: (*C.rl_lane)(r.value)})
	}
	for _, l := range t.lanes {
		t.wg.Go(l.run)
	}
	return t, nil
}

// clockOffset is clock.Now minus the shim's clock. Both count the same nanoseconds from different starts; of
// several readings the quickest is the best.
func clockOffset() (offset int64) {
	best := int64(1) << 62
	for range 16 {
		before := clock.Now()
		c := int64(C.rl_now())
		after := clock.Now()
		if after-before < best {
			best, offset = after-before, before+(after-before)/2-c
		}
	}
	return offset
}

// Grow makes slots up to n.
func (t *transport) Grow(_ context.Context, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.slots.Load()
	if t.closing.Load() {
		return context.Canceled
	}
	if n <= len(old) {
		return nil
	}
	slots := append(make([]*slot, 0, n), old...)
	for i := len(old); i < n; i++ {
		l := t.lanes[t.Lane(i)]
		slots = append(slots, &slot{lane: l, c: C.rl_slot_new(l.c, C.uint32_t(i))})
	}
	t.slots.Store(&slots)
	return nil
}

// Lane deals the slots out in turn.
func (t *transport) Lane(slot int) int { return slot % len(t.lanes) }

func (t *transport) slot(i int) *slot { return (*t.slots.Load())[i] }

const sequenceStart, sequenceEnd = 1, 2 // Triton's flags of a request

// Send hands the request to Triton, which queues it. The end, whatever it is, comes through the lane.
func (t *transport) Send(c *service.Call) {
	s := t.slot(c.Slot)
	r := c.Req.(*request)
	c.Rec.Out = r.bytes
	c.Rec.Sent = clock.Now()
	s.lane.calls.Add(1)
	v := C.rl_send_vars{seq: C.uint64_t(s.seq.Add(1))}
	if c.Vars.HasID {
		v.id, v.has_id = C.uint64_t(c.Vars.ID), 1
	}
	if c.Vars.Present {
		v.sequence = C.uint64_t(c.Vars.SeqID)
		if c.Vars.Start {
			v.flags |= sequenceStart
		}
		if c.Vars.End {
			v.flags |= sequenceEnd
		}
	}
	s.call.Store(c) // from here on the call is the lane's
	C.rl_send(s.c, r.c, &v)
}

// Flush has nothing to do: sends are not gathered.
func (t *transport) Flush() {}

// Cut ends the call in flight on a slot.
func (t *transport) Cut(i int, class record.Class) {
	s := t.slot(i)
	seq := s.seq.Load()
	if s.call.Load() != nil {
		C.rl_cut(s.c, C.uint64_t(seq), C.uint16_t(class))
	}
}

// run fetches events until the transport closes and nothing more can come.
func (l *lane) run() {
	for !l.t.closing.Load() || l.calls.Load() > 0 || C.rl_owed(l.c) > 0 {
		b := C.rl_take(l.c)
		events := unsafe.Slice(b.events, int(b.n))
		for i := range events {
			e := &events[i]
			l.event(e, unsafe.Slice(b.outputs, int(e.first+e.outputs))[e.first:])
		}
	}
}

// event deals with what happened to one call.
func (l *lane) event(e *C.rl_event, outputs []C.rl_tensor) {
	if e.seq == 0 { // a nudge
		return
	}
	s := l.t.slot(int(e.slot))
	c := s.call.Load()
	if c == nil || uint64(e.seq) != s.seq.Load() {
		return // its call was cut
	}
	at := int64(e.at) + l.t.toClock
	if e.marks&C.RL_CUT != 0 {
		C.rl_cancel(s.c, e.seq)
		s.err = service.CutError(record.Class(e.class), "Triton", nil)
		l.end(s, c, at)
		return
	}
	s.answer(e, outputs, c, at)
	if e.marks&C.RL_FINAL != 0 {
		c.Rec.Written = int64(e.written) + l.t.toClock
		l.end(s, c, at)
	}
}

// answer notes one answer of a call: outputs, an error, or the empty end of a stream.
func (s *slot) answer(e *C.rl_event, outputs []C.rl_tensor, c *service.Call, at int64) {
	t, rec := s.lane.t, &c.Rec
	switch {
	case e.error != nil:
		what, text := service.ResponseFailed, service.Said(C.GoString(e.error))
		if e.marks&C.RL_UNSENT != 0 {
			what = service.RequestRefused
		}
		s.err = &service.Error{Op: kserve.OpInfer, Class: record.Server, Text: text, Err: told(what, e.code, text)}
		return
	case e.marks&C.RL_EMPTY != 0:
		t.sink.Response(c, nil, at, true)
		return
	}
	if rec.First == 0 {
		rec.First = at
	}
	rec.End = at
	rec.Responses++
	rec.In += uint64(e.bytes)
	if t.regions.names != nil && s.err == nil {
		s.err = t.regions.check(outputs)
	}
	if want := c.Req.(*request).expect; want != nil && (s.err == nil || s.err.Class == record.Mismatch) {
		s.err = match(want, outputs) // of several answers the last one counts
	}
	var payload []byte
	if t.keep {
		s.lane.payload = appendOutputs(s.lane.payload[:0], outputs)
		payload = s.lane.payload
	}
	t.sink.Response(c, payload, at, false)
}

// end reports the end of a call.
func (l *lane) end(s *slot, c *service.Call, at int64) {
	rec := &c.Rec
	if rec.First == 0 {
		rec.First = at
	}
	if rec.End == 0 || s.err != nil {
		rec.End = at
	}
	if s.err != nil {
		rec.Class, c.Err = s.err.Class, s.err
		s.err = nil
	}
	if took := rec.End - rec.Sent; took > l.longest.Load() {
		l.longest.Store(took)
	}
	s.call.Store(nil)
	l.calls.Add(-1)
	l.t.sink.Done(c)
}

// stuck tells whether Close left something behind in Triton.
func (t *transport) stuck() bool { return t.hung.Load() }

// longest is how long the slowest answer took.
func (t *transport) longest() time.Duration {
	var n int64
	for _, l := range t.lanes {
		n = max(n, l.longest.Load())
	}
	return time.Duration(n)
}

// Close cuts all calls and gives Triton a moment to answer them. What hangs in it is left there.
func (t *transport) Close() error {
	if t.closing.Swap(true) {
		return nil
	}
	t.mu.Lock()
	n := len(*t.slots.Load())
	t.mu.Unlock()
	for i := range n {
		t.Cut(i, record.Canceled)
	}
	done := make(chan struct{})
	go func() {
		t.wg.Wait()
		close(done)
	}()
	deadline := time.After(t.wait + patience*t.longest())
	nudge := time.NewTicker(10 * time.Millisecond) // a lane that waits for answers does not see the last release
	defer nudge.Stop()
	for {
		for _, l := range t.lanes {
			C.rl_nudge(l.c)
		}
		select {
		case <-done:
			for _, l := range t.lanes {
				C.rl_lane_close(l.c)
			}
			return nil
		case <-nudge.C:
		case <-deadline:
			t.hung.Store(true)
			return errors.New("triton holds requests that it did not answer")
		}
	}
}
