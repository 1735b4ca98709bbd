package workload

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// turn is one step of a session.
type turn struct {
	session string
	delay   time.Duration
	delayed bool // a delay was given
}

// takeTurns notes which session each step belongs to, and how long to wait after it.
func (d *Data) takeTurns() error {
	sessions, delays := d.take(sessionMark), d.take(delayMark)
	d.turns = make([]turn, len(sessions))
	for i := range d.turns {
		name, _, err := tensor.NextElement(sessions[i].data)
		if err != nil {
			return dataError("the session_id of step %d must be one string", i)
		}
		t := turn{session: string(name), delayed: delays[i].set}
		if t.delayed {
			var ok bool
			if t.delay, ok = milliseconds(delays[i].data); !ok {
				return dataError("the delay of step %d is too large: it counts milliseconds", i)
			}
		}
		d.turns[i] = t
	}
	return nil
}

// Sessions are the conversations of a run: the steps of each session are its turns, in the order of the file.
// The turn of a session carries all that was said before it, so its request is made when its time comes.
type Sessions struct {
	svc   service.Messenger
	d     *Data
	body  int // index of the input that is the request's body
	list  [][]int
	deal  segment.Deal // which of them this process holds
	next  atomic.Int64
	keep  bool
	spoke []atomic.Pointer[[]byte] // bodies as they were sent, where they are kept, by step
}

// Sessions groups the steps. At least least sessions must be there to be held at the same time, in all segments together; part is
// the segment of this process. With keep, Inputs knows what was sent.
func (d *Data) Sessions(svc service.Messenger, least int, part segment.Segment, keep bool) (*Sessions, error) {
	s := &Sessions{svc: svc, d: d, deal: part.Over(least), keep: keep, spoke: make([]atomic.Pointer[[]byte], len(d.turns))}
	index := map[string]int{}
	for i, t := range d.turns {
		if _, err := s.messages(i); err != nil {
			return nil, err
		}
		k, known := index[t.session]
		if !known {
			k = len(s.list)
			index[t.session] = k
			s.list = append(s.list, nil)
		}
		s.list[k] = append(s.list[k], i)
	}
	if len(s.list) < least {
		return nil, dataError("the input data has %d sessions, fewer than --session-concurrency %d: add sessions, or lower the number", len(s.list), least)
	}
	for _, steps := range s.list {
		for _, i := range steps[:len(steps)-1] {
			if !d.turns[i].delayed {
				return nil, dataError(`step %d has no "delay", but its session has a later step`, i)
			}
		}
	}
	return s, nil
}

// messages finds the messages of a step's body.
func (s *Sessions) messages(step int) (jsonscan.Value, error) {
	body := s.d.streams[0][step].in[s.body].data
	v, err := jsonscan.Parse(body)
	if err == nil {
		if m, ok := v.Get("messages"); ok && m.Kind() == jsonscan.Array {
			return m, nil
		}
	}
	return nil, dataError("a request is not a JSON object with a list \"messages\": %s", body)
}

// Turns is the number of all requests.
func (s *Sessions) Turns() int { return len(s.d.turns) }

// Inputs is what the request of that step carried, with all that was said before. It can be asked for once.
func (s *Sessions) Inputs(step uint32) []tensor.Tensor {
	one := tensor.Shape{1}
	t := s.d.turns[step]
	out := []tensor.Tensor{
		{Name: s.d.inputs[s.body].Name, Type: tensor.JSON, Shape: one},
		{Name: sessionMark, Type: tensor.Bytes, Shape: one, Data: tensor.AppendElement(nil, t.session)},
	}
	if body := s.spoke[step].Swap(nil); body != nil {
		out[0].Data = *body
	}
	if t.delayed {
		ms := binary.LittleEndian.AppendUint64(nil, uint64(t.delay/time.Millisecond))
		out = append(out, tensor.Tensor{Name: delayMark, Type: tensor.Uint64, Shape: one, Data: ms})
	}
	return out
}

// Talk makes the talk of one slot, which holds one session after the other.
func (s *Sessions) Talk() *Talk { return &Talk{all: s} }

// Talk holds sessions, one turn after the other. One goroutine at a time may use it.
type Talk struct {
	all     *Sessions
	steps   []int  // of the session at hand
	turn    int    // the turn that comes next
	history []byte // the messages so far, without brackets
}

// Pause is the time before the next turn; false when all sessions are taken.
func (t *Talk) Pause() (time.Duration, bool) {
	if t.turn < len(t.steps) {
		return t.all.d.turns[t.steps[t.turn-1]].delay, true
	}
	i := t.all.deal.Number(int(t.all.next.Add(1) - 1))
	if i >= len(t.all.list) {
		return 0, false
	}
	t.steps, t.turn, t.history = t.all.list[i], 0, t.history[:0]
	return 0, true
}

// Next makes the request of the next turn: its payload, with all messages so far in place of its own.
func (t *Talk) Next(call *service.Call) {
	step := t.steps[t.turn]
	t.turn++
	body := t.render(step)
	spec := t.all.d.inputs[t.all.body]
	req, err := t.all.svc.Prepare(service.Inputs{
		Tensors: []tensor.Tensor{{Name: spec.Name, Type: spec.Type, Shape: tensor.Shape{1}, Data: body}},
		Step:    uint32(step),
	})
	if err != nil {
		panic("BUG: workload: the turn of a session cannot be prepared: " + err.Error())
	}
	if t.all.keep {
		t.all.spoke[step].Store(&body)
	}
	call.Req, call.Vars = req, service.Vars{}
	call.Rec.Step, call.Rec.SeqID = uint32(step), 0
	call.Rec.Flags &^= sequenceFlags
}

func (t *Talk) render(step int) []byte {
	own, err := t.all.messages(step)
	if err != nil {
		panic("BUG: workload: a session was not checked: " + err.Error())
	}
	for m := range own.Elements() {
		t.add(m)
	}
	v := jsonscan.Value(t.all.d.streams[0][step].in[t.all.body].data)
	b := make([]byte, 0, len(v)+len(t.history))
	b = append(b, '{')
	replaced := false
	for name, value := range v.Members() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, name...), ':')
		if name.Is("messages") && !replaced {
			replaced = true
			b = append(append(append(b, '['), t.history...), ']')
			continue
		}
		b = append(b, value...)
	}
	return append(b, '}')
}

func (t *Talk) add(message []byte) {
	if len(t.history) > 0 {
		t.history = append(t.history, ',')
	}
	t.history = append(t.history, message...)
}

// Heard adds the answer to what was said. A session that failed is not gone on with.
func (t *Talk) Heard(call *service.Call, events []record.Event, responses []byte) error {
	if call.Rec.Class != record.OK {
		t.turn = len(t.steps)
		return nil
	}
	if t.turn == len(t.steps) {
		_, err := t.all.svc.Message(nil, events, responses)
		return t.refused(err)
	}
	if len(t.history) > 0 {
		t.history = append(t.history, ',')
	}
	h, err := t.all.svc.Message(t.history, events, responses)
	if err != nil {
		return t.refused(err)
	}
	t.history = h
	return nil
}

func (t *Talk) refused(err error) error {
	if err == nil {
		return nil
	}
	t.turn = len(t.steps)
	return fmt.Errorf("session %q: %w", t.all.d.turns[t.steps[0]].session, err)
}
