package stress

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// startMissing is the server's error for a first request without START.
const startMissing = "must specify the START flag"

// verdict is what a response means for its sequence.
type verdict int

const (
	right     verdict = iota // continue
	wrong                    // a failure: abandon the sequence
	disturbed                // broken by a disturbance of this run: abandon the sequence, which is not a failure
)

// Fault is the name of a server's fault.
type Fault string

// The faults.
const (
	WrongAnswer  Fault = "wrong answer"
	Swapped      Fault = "sequences mixed up"
	LostEnd      Fault = "END was lost"
	StartIgnored Fault = "START is not enforced"
	KeptIdle     Fault = "an idle sequence was kept"
	Refused      Fault = "refused"
	Late         Fault = "timeout"
	Broken       Fault = "broken"
	Unreadable   Fault = "not an answer"
)

// Event is one request of a sequence and its outcome. Times are since the start of the run.
type Event struct {
	Step     Step          `json:"step"`
	Sent     time.Duration `json:"sent_ns"`
	Took     time.Duration `json:"took_ns"`
	Want     int64         `json:"want"`
	Answer   int64         `json:"answer"`
	Answered bool          `json:"answered"`
	Error    string        `json:"error,omitempty"`
}

// judge compares the responses to a train with the expected ones. The caller holds the thread's lock.
func (l *line) judge(c *service.Call, events []record.Event, responses []byte) verdict {
	steps := l.trains[l.at].steps
	for i, e := range events {
		if i == len(steps) {
			break // the transport prevents this
		}
		v := l.judgeAnswer(c, &steps[i], e.At, responses[:e.Size])
		l.measure(c, &steps[i], e.At, v)
		if v != right {
			return v
		}
		responses = responses[e.Size:]
	}
	if c.Rec.Class == record.OK {
		return right
	}
	s := &steps[min(len(events), len(steps)-1)]
	ev := l.event(c, s, c.Rec.End)
	ev.Error = c.Rec.Class.String()
	if c.Err != nil {
		ev.Error = c.Err.Error()
	}
	l.history = append(l.history, ev)
	v := l.judgeError(c, s, ev.Error)
	l.measure(c, s, c.Rec.End, v)
	return v
}

// measure counts a request by its outcome. A disturbed request is in no latency and is not a failure.
func (l *line) measure(c *service.Call, s *Step, at int64, v verdict) {
	switch v {
	case right:
		l.t.run.meter.add(c, s, at, record.OK)
	case wrong:
		l.t.run.meter.add(c, s, at, l.fault.class(c.Rec.Class))
	case disturbed:
	}
}

// event begins the history of a step.
func (l *line) event(c *service.Call, s *Step, at int64) Event {
	return Event{Step: *s, Sent: time.Duration(c.Rec.Sent - l.t.run.began), Took: time.Duration(at - c.Rec.Sent), Want: l.expect(s)}
}

// judgeAnswer checks one response.
func (l *line) judgeAnswer(c *service.Call, s *Step, at int64, response []byte) verdict {
	r := l.t.run
	ev := l.event(c, s, at)
	r.places[placeOf(s.Position)].add(at - c.Rec.Sent)
	outputs, err := r.cfg.Service.Outputs(response)
	if err == nil {
		ev.Answer, err = r.model.answer(outputs)
	}
	if ev.Answered = err == nil; err != nil {
		ev.Error = err.Error()
		l.history = append(l.history, ev)
		return l.fail(Unreadable, err.Error())
	}
	l.history = append(l.history, ev)
	r.logAnswer(l, &ev)
	if s.Refused {
		return l.judgeUnrefused(&ev, at)
	}
	return l.judgeSum(&ev, at)
}

// judgeSum checks a running sum, and the time that the sequence has taken.
func (l *line) judgeSum(ev *Event, at int64) verdict {
	r := l.t.run
	if ev.Answer != ev.Want {
		if l.repeated(at) {
			return disturbed
		}
		return l.judgeWrong(ev)
	}
	l.t.tally.Checked++
	l.sum = ev.Answer
	if ev.Step.Start {
		l.doubt = false
	}
	if ev.Step.End {
		l.final = ev.Answer
	}
	if took := time.Duration(at-l.began) - l.waited; r.plan.Timeout > 0 && took > r.plan.Timeout {
		return l.fail(Late, fmt.Sprintf("the sequence has taken %s, more than %s%s", took.Round(time.Millisecond), r.plan.Timeout, r.idleHint()))
	}
	return right
}

// repeated reports whether the server may have received a request of this pass or the previous one twice: over HTTP the transport
// sends a request again after a cut, and the server may process the first copy after the second.
func (l *line) repeated(at int64) bool {
	return l.t.run.plan.Target.Protocol == plan.HTTP && l.t.run.cutDuring(cmp.Or(l.earlier, l.began), at)
}

// judgeWrong names the fault behind a wrong sum.
func (l *line) judgeWrong(ev *Event) verdict {
	text := fmt.Sprintf("expected %d, got %d, which is %+d", ev.Want, ev.Answer, ev.Answer-ev.Want)
	switch {
	case ev.Step.Start && ev.Answer == l.t.run.model.add(l.final, ev.Step.Value) && l.before != nil:
		return l.fail(WrongAnswer, text+": the sum of the last sequence with this id went on in spite of START")
	case !ev.Step.Start && ev.Answer == ev.Step.Value:
		return l.fail(WrongAnswer, text+": the sum began anew in the middle of the sequence")
	case ev.Answer == l.sum:
		return l.fail(WrongAnswer, text+": the value was not added")
	}
	return l.failMixed(ev, WrongAnswer, text)
}

// judgeUnrefused handles a response that should have been an error.
func (l *line) judgeUnrefused(ev *Event, at int64) verdict {
	switch {
	case l.repeated(at):
		return disturbed
	case l.doubt:
		l.t.tally.Unjudged++
		return right
	case l.pass.Pattern == Idle:
		return l.fail(KeptIdle, fmt.Sprintf("a request was answered after a pause of %s: the server must have forgotten the sequence by then; "+
			"is max_sequence_idle_microseconds longer than --idle-time?", ev.Step.Wait))
	case l.before != nil && ev.Answer == l.t.run.model.add(l.final, ev.Step.Value):
		return l.fail(LostEnd, fmt.Sprintf("a request without START was answered with %d: the server went on with the sequence that had ended with %d",
			ev.Answer, l.final))
	}
	text := fmt.Sprintf("a first request without START was answered with %d where the error %q must come", ev.Answer, startMissing)
	if ev.Answer == ev.Step.Value {
		return l.fail(StartIgnored, text)
	}
	return l.failMixed(ev, StartIgnored, text)
}

// judgeError handles a failed request.
func (l *line) judgeError(c *service.Call, s *Step, text string) verdict {
	r := l.t.run
	refused := c.Rec.Class == record.Server && strings.Contains(text, startMissing)
	switch {
	case refused && s.Refused:
		l.t.tally.RefusedAsExpected++
		l.doubt = false
		r.logAnswer(l, &l.history[len(l.history)-1])
		return right
	case c.Rec.Class == record.Canceled:
		return disturbed // the run was stopped
	case c.Rec.Class == record.Timeout:
		return l.fail(Late, fmt.Sprintf("no answer to request %d of the sequence within %s%s", s.Position+1, cmp.Or(r.plan.Timeout, engine.StallAfter), r.idleHint()))
	case errors.Is(c.Err, service.ErrOtherRequest):
		return l.fail(Swapped, text)
	case r.plan.Disturbs():
		return disturbed
	case refused && l.expired():
		l.t.tally.Expired++
		return disturbed
	case refused:
		return l.fail(Refused, fmt.Sprintf("request %d of the sequence was refused as if the sequence had not been started: %s", s.Position+1, text))
	case c.Rec.Class == record.Server:
		return l.fail(Refused, "the server refused a request: "+text)
	}
	return l.fail(Broken, c.Rec.Class.String()+": "+text)
}

// expired reports whether the sequence may have been forgotten in the backlog. A server counts the time that a first
// request waits for a slot as idle time of its sequence, so a client that waits for each response can be too late with
// the second. Trains cannot.
func (l *line) expired() bool {
	n := len(l.history)
	return l.t.run.cfg.Train == nil && n > 1 && l.t.run.cfg.ServerIdle > 0 && l.history[n-2].Took >= l.t.run.cfg.ServerIdle
}

// idleHint says why sequences may wait long for a slot.
func (r *run) idleHint() string {
	if r.cfg.ServerIdle < r.plan.Timeout {
		return ""
	}
	return fmt.Sprintf("; the model keeps a sequence without END in its slot for %s: shorten its max_sequence_idle_microseconds or raise --timeout",
		r.cfg.ServerIdle)
}

// fail keeps a failure with its history.
func (l *line) fail(fault Fault, text string) verdict {
	l.fault = fault
	l.t.tally.fault(fault)
	f := l.failure(fault, text)
	if l.t.run.keep(f) {
		l.t.run.cfg.Observer.Failed(f)
	}
	return wrong
}

func (l *line) failure(fault Fault, text string) *Failure {
	return &Failure{
		Fault: fault, Text: text, Thread: l.t.id, ID: l.name, Pattern: l.pass.Pattern.String(), Lengths: l.pass.Lengths,
		Iteration: l.pass.Iteration, History: l.history, Replay: l.t.run.replayCommand(l),
	}
}
