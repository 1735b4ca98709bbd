package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
)

// Maker makes a worker's share of the loads of a run.
type Maker interface {
	// Start begins the share of an order at the time that begin returns once everything is prepared. The load ends with ctx.
	Start(ctx context.Context, o Order, begin func(context.Context) (int64, error)) error
	// Stop ends the load: nothing more is sent. Cut also cancels the requests in flight.
	Stop()
	Cut()
	// Working tells whether a request is in flight or will yet be sent.
	Working() bool
	// Err is why the worker cannot go on with the run; nil while it can.
	Err() error
	Engine() *engine.Engine
	// Standstill is the longest time between two readings of the clock in which this process did not run, in nanoseconds.
	Standstill(from, to int64) int64
	Close() error
}

// Collect receives the records of a Maker. The coordinator gets data with the record.
type Collect func(r *record.Record, events []record.Event, data []byte)

// Worker waits for runs and makes its share of their loads, one run at a time.
type Worker struct {
	Bus   *Bus
	Hello Hello
	// Prepare makes the Maker of a job whose input files are in place. hard ends when requests in flight are cut.
	Prepare func(hard context.Context, job *Job, collect Collect) (Maker, error)
	// Folder is where input files are kept during a run. Free is the room in it in bytes.
	Folder string
	Free   func(folder string) (int64, error)
	// Say prints a line for the user.
	Say func(format string, args ...any)
	// Redact removes the secrets of this process from a text that goes to other machines; nil changes nothing.
	Redact func(text string) string
	// Once ends the worker after its first run.
	Once bool
	// Clock reads the monotonic and the wall clock; nil is the clock of the process.
	Clock func() (now, wall int64)

	mu         sync.Mutex
	assignment *assignment // nil while the worker is free
	done       chan struct{}
}

// Run answers coordinators until ctx ends, or until the first run is over with Once.
func (w *Worker) Run(ctx context.Context) error {
	if w.Clock == nil {
		w.Clock = clock.Both
	}
	w.done = make(chan struct{}, 1)
	nc := w.Bus.nc
	for subject, handle := range map[string]nats.MsgHandler{
		helloSubject:              func(m *nats.Msg) { w.answerHello(m) },
		workerSubject(w.Hello.ID): func(m *nats.Msg) { w.answer(ctx, m) },
	} {
		sub, err := nc.Subscribe(subject, handle)
		if err != nil {
			return fmt.Errorf("listen for coordinators: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }() // the connection is closed soon
	}
	wait, settled := context.WithTimeout(ctx, settleTime)
	defer settled()
	if err := w.Bus.settle(wait); err != nil && ctx.Err() == nil {
		return fmt.Errorf("listen for coordinators: %w", err)
	}
	w.Say("worker %s waits for runs at %s", w.Hello.Name, w.Bus.at)
	for {
		select {
		case <-ctx.Done():
			if s := w.current(); s != nil {
				s.end("the worker was stopped")
			}
			return nil
		case <-w.done:
			if w.Once {
				return nil
			}
		}
	}
}

func (w *Worker) current() *assignment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.assignment
}

func (w *Worker) answerHello(m *nats.Msg) {
	h := w.Hello
	h.TLS = w.Bus.Secure()
	if s := w.current(); s != nil {
		h.Run = s.job.Run
	}
	_ = m.Respond(encode(h)) // a coordinator that gets no answer asks again
}

// answer does what the coordinator asks of this worker alone.
func (w *Worker) answer(ctx context.Context, m *nats.Msg) {
	var r request
	if err := json.Unmarshal(m.Data, &r); err != nil {
		_ = m.Respond(encode(reply{Error: "a message that this version does not understand"}))
		return
	}
	switch r.Kind {
	case kindClock:
		now, wall := w.Clock()
		_ = m.Respond(encode(reply{Now: now, Wall: wall, Error: w.refusal()}))
	case kindJoin:
		go func() { _ = m.Respond(encode(reply{Error: w.text(w.join(ctx, r.Job))})) }()
	default:
		_ = m.Respond(encode(reply{Error: fmt.Sprintf("this version knows no request %q", r.Kind)}))
	}
}

// text is an error as other machines read it; empty if there is none.
func (w *Worker) text(err error) string {
	if err == nil {
		return ""
	}
	return w.redact(err.Error())
}

func (w *Worker) redact(text string) string {
	if w.Redact == nil {
		return text
	}
	return w.Redact(text)
}

// refusal is why NATS does not take the records of this worker; empty while it does.
func (w *Worker) refusal() string {
	if s := w.current(); s != nil {
		return s.out.refusal()
	}
	return ""
}

// join takes the worker into a run.
func (w *Worker) join(ctx context.Context, job *Job) error {
	if job == nil || job.Plan == nil && job.Options == nil || job.Index < 0 || job.Index >= job.Of || job.Interval <= 0 {
		return errors.New("the request to join has no plan, or no share of it")
	}
	if job.Protocol != Protocol {
		return fmt.Errorf("the plan comes from redline %s (messages of version %d), this worker is redline %s (version %d): use the same version on all machines",
			job.Version, job.Protocol, w.Hello.Version, Protocol)
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends by the assignment's own end, so that its cause is known
	s := newAssignment(run, cancel, w, job)
	for {
		before, assigned := w.assign(ctx, s)
		if assigned {
			break
		}
		if before != nil && before.job.Run == job.Run && before.job.Epoch < job.Epoch {
			before.end("another coordinator has taken the run up")
			continue
		}
		cancel(nil)
		switch {
		case before == nil:
			return errors.New("it is being stopped")
		case before.job.Run == job.Run && before.job.Epoch == job.Epoch:
			return before.joined() // the coordinator asks again: its first request or our answer was lost
		}
		return fmt.Errorf("it works for run %s", before.job.Run)
	}
	w.Say("run %s: joined as worker %d of %d", job.Run, job.Index+1, job.Of)
	go s.run(run)
	err := s.joined()
	if err != nil {
		w.Say("run %s: %v", job.Run, err)
	}
	return err
}

// assign gives the worker an assignment if it is free. Otherwise it returns the assignment that the worker has, or nil if the worker is being
// stopped.
func (w *Worker) assign(ctx context.Context, s *assignment) (before *assignment, assigned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.assignment == nil && ctx.Err() == nil {
		w.assignment = s
		return nil, true
	}
	return w.assignment, false
}

// left makes the worker free again.
func (w *Worker) left(s *assignment, why string) {
	w.mu.Lock()
	if w.assignment == s {
		w.assignment = nil
	}
	w.mu.Unlock()
	w.Say("run %s: left: %s; %d records were acknowledged", s.job.Run, why, s.out.acknowledged())
	select {
	case w.done <- struct{}{}:
	default:
	}
}
