package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// assignment is what a worker does for one load of a run: it serves the coordinator and makes the worker's share of the load.
type assignment struct {
	w    *Worker
	job  *Job
	load run.Load
	out  *sender

	ctx    context.Context // ends when the worker leaves the run
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when load is there, or err
	err    error
	ended  chan struct{} // closed when everything is over

	mu     sync.Mutex
	heard  time.Time // from the coordinator
	gen    uint64
	begin  chan int64         // when to begin
	starts bool               // a load is being prepared or begun
	abort  context.CancelFunc // ends the load that was prepared last; nil before the first one
	last   *broadcast         // that was done last, or is being done; nil before the first one
	began  int64
}

// broadcast is a request of the coordinator to all workers.
type broadcast struct {
	number uint64
	done   chan struct{} // closed when it is done
	result string        // an error, or empty
}

func newAssignment(ctx context.Context, cancel context.CancelCauseFunc, w *Worker, job *Job) *assignment {
	s := &assignment{ctx: ctx, cancel: cancel, w: w, job: job, ready: make(chan struct{}), ended: make(chan struct{}), heard: time.Now()}
	s.out = newSender(s)
	return s
}

// leftError is the cause of the end of an assignment.
type leftError string

func (e leftError) Error() string { return string(e) }

// errRunOver means that the coordinator has all records that it needs.
const errRunOver = leftError("the run is over")

// joined waits until the assignment can make load.
func (s *assignment) joined() error {
	<-s.ready
	return s.err
}

// run joins the run and serves it until the worker leaves it. ctx is that of the assignment.
func (s *assignment) run(ctx context.Context) {
	defer close(s.ended)
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer func() { s.w.left(s, context.Cause(s.ctx).Error()) }()
	sub, err := s.w.Bus.nc.Subscribe(runSubject(s.job.Run), s.receive)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }()
		wait, done := context.WithTimeout(ctx, settleTime)
		err = s.w.Bus.settle(wait)
		done()
	}
	var watch sync.WaitGroup
	watch.Go(s.watchCoordinator)
	defer watch.Wait()
	var files *files
	if err == nil {
		files, err = s.w.fetch(ctx, s.job)
	}
	if err == nil {
		defer files.remove()
		files.place(s.job)
		prepared := context.AfterFunc(ctx, cut) // a run that is left needs no preparation
		s.load, err = s.w.Prepare(hard, s.job, s.out.add)
		prepared()
	}
	s.err = err
	close(s.ready)
	if err != nil {
		s.cancel(leftError("it could not prepare the run"))
		return
	}
	s.out.run(ctx) // until the run is left
	s.stopLoad()
	cut()
	_ = s.load.Close() // what was in flight is canceled; the run is over for this worker
	if !errors.Is(context.Cause(ctx), errRunOver) {
		s.out.finish()
	}
}

// watchCoordinator leaves the run when no heartbeat has come for CoordinatorTimeout: no server is loaded without a coordinator.
func (s *assignment) watchCoordinator() {
	for {
		s.mu.Lock()
		left := CoordinatorTimeout - time.Since(s.heard)
		s.mu.Unlock()
		if left <= 0 {
			s.cancel(leftError(fmt.Sprintf("no heartbeat from the coordinator for %s; the load was stopped", CoordinatorTimeout)))
			return
		}
		if !clock.Sleep(s.ctx, left) {
			return
		}
	}
}

// receive does what the coordinator asks of all workers of the run.
func (s *assignment) receive(m *nats.Msg) {
	var r request
	if json.Unmarshal(m.Data, &r) != nil || r.Epoch != s.job.Epoch {
		return // of a coordinator that this worker does not work for
	}
	s.mu.Lock()
	s.heard = time.Now()
	s.mu.Unlock()
	switch {
	case r.Kind == kindHeartbeat || r.Load != s.job.Load:
	case r.Kind == kindLeave: // also while the worker prepares
		s.cancel(errRunOver)
		go func() {
			<-s.ended // the worker is free when the coordinator has the answer
			_ = m.Respond(encode(reply{Index: s.job.Index}))
		}()
	default:
		go s.answer(m, &r)
	}
}

func (s *assignment) answer(m *nats.Msg, r *request) {
	<-s.ready
	if s.err != nil {
		return
	}
	answer := reply{Index: s.job.Index}
	if r.Kind == kindFlights {
		answer.Flights = packFlights(run.Read(s.load, run.Flights).Flights)
	} else {
		answer.Error = s.once(r)
	}
	if err := m.Respond(encode(answer)); errors.Is(err, nats.ErrMaxPayload) {
		answer.Flights = nil // an answer without the list is better than none: the coordinator would take the worker for lost
		_ = m.Respond(encode(answer))
	}
}

// once does a broadcast, or waits until it is done where it came before. The result is an error or empty. A broadcast that comes after
// a later one is not done: the coordinator has given it up.
func (s *assignment) once(r *request) string {
	s.mu.Lock()
	b, fresh := s.last, false
	switch {
	case b != nil && r.Number < b.number:
		s.mu.Unlock()
		return ""
	case b == nil || r.Number > b.number:
		b, fresh = &broadcast{number: r.Number, done: make(chan struct{})}, true
		s.last = b
	}
	s.mu.Unlock()
	if fresh {
		b.result = s.w.text(s.do(r))
		close(b.done)
		return b.result
	}
	select {
	case <-b.done:
		return b.result
	case <-s.ctx.Done():
		return context.Cause(s.ctx).Error()
	}
}

func (s *assignment) do(r *request) error {
	switch r.Kind {
	case kindOrder:
		return s.order(r)
	case kindGo:
		s.mu.Lock()
		begin := s.begin
		s.mu.Unlock()
		if begin == nil || s.job.Index >= len(r.At) {
			return errors.New("there is no load to begin")
		}
		begin <- r.At[s.job.Index]
		return nil
	case kindStop:
		s.stopLoad()
		return nil
	case kindCut:
		s.stopLoad()
		s.load.Cut()
		return nil
	}
	return fmt.Errorf("this version knows no request %q", r.Kind)
}

// order prepares a load. It returns when only the time to begin is missing.
func (s *assignment) order(r *request) error {
	if r.Level == nil && r.Phase == nil {
		return errors.New("the request has no level")
	}
	prepared, failed, begin := make(chan struct{}), make(chan error, 1), make(chan int64, 1)
	var asked bool
	var start int64
	when := func(ctx context.Context) (int64, error) {
		asked = true
		close(prepared)
		select {
		case at := <-begin:
			s.mu.Lock()
			s.gen, s.began, start = r.Gen, 0, at
			s.mu.Unlock()
			return at, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	ctx, abort := context.WithCancel(s.ctx)
	s.mu.Lock()
	before := s.abort
	s.begin, s.starts, s.abort = begin, true, abort
	s.mu.Unlock()
	go func() {
		o := r.Order
		o.When = when
		err := s.load.Begin(ctx, o)
		if before != nil {
			before() // the engine has ended the load before
		}
		if err == nil && !asked { // this worker has nothing to send
			_, err = when(ctx)
		}
		s.mu.Lock()
		s.starts = false
		if start != 0 {
			s.began = max(start, clock.Now()) // an open loop sends its first request at its time
		}
		s.mu.Unlock()
		failed <- err
	}()
	select {
	case <-prepared:
		return nil
	case err := <-failed:
		return err
	}
}

// starting tells whether a load is being prepared or begun.
func (s *assignment) starting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// stopLoad ends the load, also one that is being prepared: nothing more is sent.
func (s *assignment) stopLoad() {
	s.mu.Lock()
	abort := s.abort
	s.mu.Unlock()
	if abort != nil {
		abort()
	}
	s.load.Stop()
}

// describe completes the head of a block with a reading of the load.
func (s *assignment) describe(h *Head, now *run.State) {
	s.mu.Lock()
	h.Gen, h.Began = s.gen, s.began
	s.mu.Unlock()
	h.Sent, h.InFlight, h.Behind, h.Dropped, h.Stalled = now.Sent, now.InFlight, now.Behind, now.Dropped, now.Stalled
	h.Connections, h.Busiest = now.Connections, now.Busiest
	h.CPU, h.Busy, h.Idle, h.Steal = now.Vitals.CPU, now.Vitals.Busy, now.Vitals.Idle, now.Vitals.Steal
	select {
	case <-s.load.Failed():
		h.Failed = true
	default:
	}
	if now.Stall() == nil { // a silent server is a failure
		h.Error = s.w.text(now.Err)
	}
}

// failures are the groups of the load as they are sent.
func (s *assignment) failures(list []engine.Failure) []Failure {
	var out []Failure
	for _, f := range list {
		out = append(out, Failure{Class: f.Class, Code: code(f.Err), Text: s.w.redact(service.Reason(f.Err)), Slot: f.Worker, Count: f.Count})
	}
	return out
}

// code is the status of the server's answer; 0 if there was none.
func code(err error) int {
	if e, ok := errors.AsType[*service.Error](err); ok {
		return e.Code
	}
	return 0
}

// add takes a record of the load.
func (o *sender) add(r *record.Record, _ []record.Event, data []byte) {
	o.pack.add(r, data)
	if len(o.pack.buf) >= blockSize {
		o.send(&Head{Working: true})
	}
}
