// Package suite is what every service kind must do, whatever it speaks: connect, carry calls one by one and many at
// a time, end each exactly once with sane times, tell a server's error from a broken answer, let go of a call that is
// cut, live through the server's death and find it again.
//
// A kind's test describes how to make its service for a server, sound or faulty, and calls Run.
package suite

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Fault is how a server behaves.
type Fault string

// The faults.
const (
	None      Fault = ""
	Error     Fault = "error"     // it answers with an error
	Malformed Fault = "malformed" // its answers are no answers
	Hang      Fault = "hang"      // it never answers
)

// Kind is what the suite must know of a service kind.
type Kind struct {
	// New makes a service for the server at the address, which behaves as the fault says; nil where the kind knows
	// no such fault.
	New func(t *testing.T, addr string, f Fault) service.Service
	// Inputs are those of a good request.
	Inputs service.Inputs
	// Addr is where the server listens; empty in process, where nothing can be cut off.
	Addr string
	// Malformed is the class of an answer that is none; OK stands for record.Protocol.
	Malformed record.Class
}

// patience bounds every wait: nothing is measured by it.
const patience = 2 * time.Minute

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	t.Run("send", k.send)
	t.Run("concurrent", k.concurrent)
	t.Run("error", func(t *testing.T) { k.fails(t, Error, record.Server) })
	t.Run("malformed", func(t *testing.T) {
		class := record.Protocol
		if k.Malformed != record.OK {
			class = k.Malformed
		}
		k.fails(t, Malformed, class)
	})
	t.Run("cut", k.cut)
	t.Run("close", k.closes)
	t.Run("death", k.death)
}

// ended is how a call ended.
type ended struct {
	rec record.Record
	err error
}

// run is a service with its transport, and the sink of its calls.
type run struct {
	t     *testing.T
	svc   service.Service
	tr    service.Transport
	req   service.Request
	calls []*service.Call

	left  atomic.Int64 // calls still to be sent
	ends  chan ended
	lanes [64]atomic.Bool // in use, to see that the ends of one lane never meet
}

func (k *Kind) open(t *testing.T, addr string, f Fault, slots int) *run {
	t.Helper()
	svc := k.New(t, addr, f)
	if svc == nil {
		t.Skip("this kind knows no such fault")
	}
	t.Cleanup(func() { _ = svc.Close() })
	if f == None || k.Addr == "" { // the fault may reach the description too
		if _, err := svc.Describe(t.Context()); err != nil {
			t.Fatalf("describe: %v", err)
		}
	}
	r := &run{t: t, svc: svc, ends: make(chan ended, 1<<16)}
	var err error
	if r.req, err = svc.Prepare(k.Inputs); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	if s, ok := svc.(service.Stager); ok {
		if err := s.Stage(t.Context()); err != nil {
			t.Fatalf("stage: %v", err)
		}
	}
	if r.tr, err = svc.Open(t.Context(), r); err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = r.tr.Close() })
	if err := r.tr.Grow(t.Context(), slots); err != nil {
		t.Fatalf("grow: %v", err)
	}
	for i := range slots {
		r.calls = append(r.calls, &service.Call{Slot: i, Req: r.req})
	}
	return r
}

// Response implements service.Sink.
func (r *run) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if !empty && len(payload) > 0 {
		if _, err := r.svc.Outputs(payload); err != nil {
			r.t.Errorf("a response cannot be read: %v", err)
		}
	}
	if at < c.Rec.Sent || at > clock.Now() {
		r.t.Errorf("a response at %d, sent at %d", at, c.Rec.Sent)
	}
}

// Done implements service.Sink: the slot's next call is sent from within the end of the last, as the engine does.
func (r *run) Done(c *service.Call) {
	lane := &r.lanes[r.tr.Lane(c.Slot)%len(r.lanes)]
	if len(r.calls) <= len(r.lanes) && !lane.CompareAndSwap(false, true) {
		r.t.Error("two calls of one lane end at the same time")
	}
	defer lane.Store(false)
	e := ended{c.Rec, c.Err}
	if r.left.Add(-1) >= 0 {
		c.Rec, c.Err = record.Record{}, nil
		r.tr.Send(c)
	}
	r.ends <- e
}

// load sends n calls over all slots.
func (r *run) load(n int) {
	r.left.Store(int64(n - len(r.calls)))
	for _, c := range r.calls {
		c.Rec, c.Err = record.Record{}, nil
		r.tr.Send(c)
	}
	r.tr.Flush()
}

// end waits for the end of one call.
func (r *run) end() (record.Record, error) {
	r.t.Helper()
	select {
	case e := <-r.ends:
		return e.rec, e.err
	case <-time.After(patience):
		r.t.Fatal("a call does not end")
		return record.Record{}, nil
	}
}

func (r *run) good(rec record.Record, err error) {
	r.t.Helper()
	switch {
	case rec.Class != record.OK || err != nil:
		r.t.Fatalf("ended as %s: %v", rec.Class, err)
	case rec.Responses == 0:
		r.t.Errorf("no response was counted")
	case rec.Sent == 0 || rec.First < rec.Sent || rec.End < rec.First || rec.Written < rec.Sent || rec.End > clock.Now():
		r.t.Errorf("times out of order: %+v", rec)
	}
}

func (k *Kind) send(t *testing.T) {
	r := k.open(t, k.Addr, None, 1)
	for range 3 {
		r.load(1)
		rec, err := r.end()
		r.good(rec, err)
		if k.Addr != "" && (rec.In == 0 || rec.Out == 0) {
			t.Errorf("no bytes were counted: %+v", rec)
		}
	}
}

func (k *Kind) concurrent(t *testing.T) {
	const slots, n = 16, 400
	r := k.open(t, k.Addr, None, slots)
	r.load(n)
	for range n {
		r.good(r.end())
	}
	if err := r.tr.Grow(t.Context(), 2*slots); err != nil {
		t.Fatal(err)
	}
	for i := slots; i < 2*slots; i++ {
		r.calls = append(r.calls, &service.Call{Slot: i, Req: r.req})
	}
	r.load(n)
	for range n {
		r.good(r.end())
	}
	select {
	case <-r.ends:
		t.Error("a call ended twice")
	default:
	}
}

// fails holds that every call to a faulty server fails with a class and a reason, and that the next one is carried
// all the same.
func (k *Kind) fails(t *testing.T, f Fault, class record.Class) {
	r := k.open(t, k.Addr, f, 2)
	r.load(6)
	for range 6 {
		rec, err := r.end()
		if rec.Class != class || err == nil || err.Error() == "" || rec.End < rec.Sent {
			t.Errorf("ended as %s, want %s: %v, %+v", rec.Class, class, err, rec)
		}
	}
}

// cut ends calls that are never answered: as soon as they are sent, and when the server has got them.
func (k *Kind) cut(t *testing.T) {
	addr, passed, await := k.Addr, func() int { return 0 }, func(int) {}
	if addr != "" {
		p := newProxy(t, addr)
		addr, passed, await = p.addr, p.passed, p.await
	}
	r := k.open(t, addr, Hang, 2)
	size := 0 // of two requests, once it is known
	for _, class := range []record.Class{record.Timeout, record.Timeout, record.Canceled} {
		from := passed()
		r.load(2)
		await(from + size)
		for slot := range 2 {
			r.tr.Cut(slot, class)
		}
		size = 0
		for range 2 {
			rec, err := r.end()
			if rec.Class != class || err == nil {
				t.Errorf("ended as %s, want %s: %v", rec.Class, class, err)
			}
			size += int(rec.Out)
		}
	}
}

func (k *Kind) closes(t *testing.T) {
	f := Hang
	if svc := k.New(t, k.Addr, f); svc == nil {
		f = None
	} else {
		_ = svc.Close()
	}
	r := k.open(t, k.Addr, f, 4)
	r.load(4)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.tr.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	for range 4 {
		if rec, err := r.end(); rec.Class == record.OK && f == Hang {
			t.Errorf("ended as %s: %v", rec.Class, err)
		}
	}
	wg.Wait()
}

// death lets the server die under load and come back: every call ends, and the later ones are answered again.
func (k *Kind) death(t *testing.T) {
	if k.Addr == "" {
		t.Skip("in process nothing can be cut off")
	}
	p := newProxy(t, k.Addr)
	r := k.open(t, p.addr, None, 8)
	r.load(1 << 30)
	for range 50 {
		r.good(r.end())
	}
	p.kill()
	failed := 0
	for failed < 20 {
		if rec, err := r.end(); rec.Class == record.OK {
			continue
		} else if rec.Class != record.Transport && rec.Class != record.Connect || err == nil {
			t.Fatalf("ended as %s: %v", rec.Class, err)
		}
		failed++
	}
	p.revive()
	deadline, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ok := 0; ok < 50; {
		if deadline.Err() != nil {
			t.Fatal("the server is back, but no call is answered")
		}
		if rec, _ := r.end(); rec.Class == record.OK {
			ok++
		}
	}
	r.left.Store(0)
	for range r.calls {
		_, _ = r.end()
	}
}

// Headers ask the reference server for the fault; there are none where there is no fault.
func (f Fault) Headers() []plan.Header {
	if f == None {
		return nil
	}
	return []plan.Header{{Name: "x-redline-fault", Value: string(f)}}
}

// SimpleInputs are what the model simple takes.
func SimpleInputs() service.Inputs {
	in := tensor.Tensor{Type: tensor.Int32, Shape: tensor.Shape{1, 16}, Data: make([]byte, 64)}
	first, second := in, in
	first.Name, second.Name = "INPUT0", "INPUT1"
	return service.Inputs{Tensors: []tensor.Tensor{first, second}}
}
