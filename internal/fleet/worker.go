package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/unit"
)

// Worker waits for runs and makes its share of their loads, one run at a time. The loads of a scenario's classes are made at the same time.
type Worker struct {
	Bus   *Bus
	Hello Hello
	// Prepare opens the load that makes this worker's share of a job whose input files are in place. The coordinator gets the data that
	// collect is given with a record, not its events. hard ends when requests in flight are cut.
	Prepare func(hard context.Context, job *Job, collect run.Collect) (run.Load, error)
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

	mu          sync.Mutex
	assignments []*assignment // of one run, one for each of its loads; empty while the worker is free
	done        chan struct{}
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
			endAll(w.current(), "the worker was stopped")
			return nil
		case <-w.done:
			if w.Once && len(w.current()) == 0 {
				return nil
			}
		}
	}
}

// current are the loads that the worker makes.
func (w *Worker) current() []*assignment {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.assignments)
}

// endAll leaves a run and returns when nothing is in flight any more.
func endAll(list []*assignment, why string) {
	for _, s := range list {
		s.cancel(leftError(why))
	}
	for _, s := range list {
		<-s.ended
	}
}

// runName is the name of the run that the worker works for; empty if it is free.
func (w *Worker) runName() string {
	if list := w.current(); len(list) > 0 {
		return list[0].job.Run
	}
	return ""
}

func (w *Worker) answerHello(m *nats.Msg) {
	h := w.Hello
	h.TLS = w.Bus.Secure()
	h.Run = w.runName()
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
		_ = m.Respond(encode(reply{Now: now, Wall: wall, Run: w.runName(), Error: w.refusal()}))
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
	for _, s := range w.current() {
		if why := s.out.refusal(); why != "" {
			return why
		}
	}
	return ""
}

// join takes the worker into a run.
func (w *Worker) join(ctx context.Context, job *Job) error {
	if job == nil || job.Plan == nil && job.Own == nil || job.Index < 0 || job.Index >= job.Of || job.Interval <= 0 {
		return errors.New("the request to join has no plan, or no share of it")
	}
	if job.Protocol != Protocol {
		return fmt.Errorf("the plan comes from redline %s (messages of version %d), this worker is redline %s (version %d): use the same version on all machines",
			job.Version, job.Protocol, w.Hello.Version, Protocol)
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // it ends by the assignment's own end, so that its cause is known
	s := newAssignment(run, cancel, w, job)
	before, err := w.assign(ctx, s)
	if err != nil || before != nil {
		cancel(nil)
	}
	switch {
	case err != nil:
		return err
	case before != nil:
		return before.joined() // the coordinator asks again: its first request or our answer was lost
	}
	w.Say("%s: joined as worker %d of %d", job.title(), job.Index+1, job.Of)
	go s.run(run)
	err = s.joined()
	if err != nil {
		w.Say("%s: %v", job.title(), err)
	}
	return err
}

// assign gives the worker an assignment. It returns the one that the worker has for the same load. A worker that makes loads of another run
// takes no assignment, nor one that is being stopped; loads for an earlier coordinator of the run end.
func (w *Worker) assign(ctx context.Context, s *assignment) (same *assignment, err error) {
	for {
		earlier, same, err := w.add(ctx, s)
		if len(earlier) == 0 {
			return same, err
		}
		endAll(earlier, "another coordinator has taken the run up")
	}
}

func (w *Worker) add(ctx context.Context, s *assignment) (earlier []*assignment, same *assignment, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return nil, nil, errors.New("it is being stopped")
	}
	for _, before := range w.assignments {
		switch at, job := before.job, s.job; {
		case at.Run != job.Run || at.Epoch > job.Epoch:
			return nil, nil, fmt.Errorf("it works for run %s", at.Run)
		case at.Epoch < job.Epoch:
			earlier = append(earlier, before)
		case at.Load == job.Load:
			return nil, before, nil
		}
	}
	if len(earlier) == 0 {
		w.assignments = append(w.assignments, s)
	}
	return earlier, nil, nil
}

// left makes the worker free of an assignment.
func (w *Worker) left(s *assignment, why string) {
	w.mu.Lock()
	w.assignments = slices.DeleteFunc(w.assignments, func(other *assignment) bool { return other == s })
	w.mu.Unlock()
	w.Say("%s: left: %s; %s acknowledged", s.job.title(), why, unit.Count(s.out.acknowledged(), "record"))
	select {
	case w.done <- struct{}{}:
	default:
	}
}
