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
	"github.com/redline-bench/redline/internal/service"
)

// station is a worker's part in one run.
type station struct {
	w     *Worker
	job   *Job
	maker Maker
	out   *sender

	ctx    context.Context // ends when the worker leaves the run
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when maker is there, or err
	err    error
	ended  chan struct{} // closed when everything is over

	mu     sync.Mutex
	heard  time.Time // from the coordinator
	gen    uint64
	begin  chan int64             // when to begin
	starts bool                   // a load is being prepared or begun
	orders map[uint64]chan string // broadcasts that were done, or are being done
	began  int64
}

func newStation(ctx context.Context, cancel context.CancelCauseFunc, w *Worker, job *Job) *station {
	return &station{
		ctx: ctx, cancel: cancel, w: w, job: job, ready: make(chan struct{}), ended: make(chan struct{}), heard: time.Now(), orders: map[uint64]chan string{},
	}
}

// leftError is the cause of the end of a station.
type leftError string

func (e leftError) Error() string { return string(e) }

// end leaves the run and returns when nothing is in flight any more.
func (s *station) end(why string) {
	s.cancel(leftError(why))
	<-s.ended
}

// joined waits until the station can make load.
func (s *station) joined() error {
	<-s.ready
	return s.err
}

// run is the station's life.
func (s *station) run(ctx context.Context) {
	defer close(s.ended)
	hard, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer func() { s.w.left(s, context.Cause(s.ctx).Error()) }()
	s.out = newSender(s)
	sub, err := s.w.Bus.nc.Subscribe(runSubject(s.job.Run), s.broadcast)
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }()
		wait, done := context.WithTimeout(ctx, DeadMan)
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
		s.job.Plan = files.place(s.job.Plan)
		s.maker, err = s.w.Prepare(hard, s.job, s.out.add)
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
	_ = s.maker.Close() // what was in flight is canceled; the run is over for this worker
	s.out.finish()
}

// watchCoordinator is the dead man's switch: without a sign of life from the coordinator the load ends.
func (s *station) watchCoordinator() {
	for {
		s.mu.Lock()
		left := DeadMan - time.Since(s.heard)
		s.mu.Unlock()
		if left <= 0 {
			s.cancel(leftError(fmt.Sprintf("the coordinator gave no sign of life for %s; the load was stopped", DeadMan)))
			return
		}
		if !pause(s.ctx, left) {
			return
		}
	}
}

// broadcast does what the coordinator asks of all workers of the run.
func (s *station) broadcast(m *nats.Msg) {
	var r request
	if json.Unmarshal(m.Data, &r) != nil || r.Epoch != s.job.Epoch {
		return // of a coordinator that this worker does not work for
	}
	s.mu.Lock()
	s.heard = time.Now()
	s.mu.Unlock()
	if r.Kind == kindBeat {
		return
	}
	go func() {
		<-s.ready
		if s.err != nil {
			return
		}
		answer := reply{Index: s.job.Index}
		if r.Kind == kindFlights {
			for _, f := range s.maker.Engine().Flights() {
				answer.Flights = append(answer.Flights, flight{f.Slot, f.Due, f.Sent})
			}
		} else {
			answer.Error = s.once(&r)
		}
		_ = m.Respond(encode(answer)) // the coordinator asks again
	}()
}

// once does a broadcast, or waits until it is done where it came before. The result is an error or empty.
func (s *station) once(r *request) string {
	s.mu.Lock()
	done, known := s.orders[r.Number]
	if !known {
		done = make(chan string, 1)
		s.orders[r.Number] = done
	}
	s.mu.Unlock()
	if !known {
		done <- text(s.do(r))
	}
	select {
	case result := <-done:
		done <- result // for the next who asks
		return result
	case <-s.ctx.Done():
		return context.Cause(s.ctx).Error()
	}
}

func (s *station) do(r *request) error {
	eng := s.maker.Engine()
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
		eng.Stop()
		return nil
	case kindCut:
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		eng.Stop()
		_ = eng.Wait(ctx) // cancels what is in flight
		return nil
	case kindLeave:
		s.cancel(leftError("the run is over"))
		return nil
	}
	return fmt.Errorf("this version knows no request %q", r.Kind)
}

// order prepares a load. It returns when only the time to begin is missing.
func (s *station) order(r *request) error {
	eng := s.maker.Engine()
	if r.Restart {
		eng.Restart()
	}
	if r.Clear {
		eng.ClearFailures()
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
	s.mu.Lock()
	s.begin, s.starts = begin, true
	s.mu.Unlock()
	go func() {
		err := s.maker.Start(s.ctx, *r.Level, r.Limit, r.Seed, when)
		if err == nil && !asked { // this worker has nothing to send
			_, err = when(s.ctx)
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

// working tells whether a request is in flight or will yet be sent.
func (s *station) working() bool {
	s.mu.Lock()
	starts := s.starts // before the engine is asked: it works when starts has become false
	s.mu.Unlock()
	return starts || s.maker.Engine().Working()
}

func (s *station) stopLoad() { s.maker.Engine().Stop() }

// reading completes the head of a block.
func (s *station) reading(h *Head) {
	eng := s.maker.Engine()
	s.mu.Lock()
	h.Gen, h.Began = s.gen, s.began
	s.mu.Unlock()
	h.Sent, h.InFlight, h.Behind, h.Dropped, h.Stalled = eng.Sent(), eng.InFlight(), eng.Behind(), eng.Dropped(), eng.Stalled()
	h.Connections, h.Busiest = eng.Connections()
	select {
	case <-eng.Failed():
		h.Failed = true
	default:
	}
}

// failures are the groups of an engine as they are sent.
func failures(eng *engine.Engine) []Failure {
	var out []Failure
	for _, f := range eng.Failures() {
		out = append(out, Failure{Class: f.Class, Code: code(f.Err), Text: service.Reason(f.Err), Slot: f.Worker, Count: f.Count})
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

var _ Collect = (*sender)(nil).add

// add implements Collect.
func (o *sender) add(r *record.Record, _ []record.Event, _ []byte) {
	o.pack.add(r)
	if len(o.pack.buf) >= blockSize {
		o.send(&Head{Working: true})
	}
}
