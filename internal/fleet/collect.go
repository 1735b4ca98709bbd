package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/vitals"
)

// receive takes a block in. Blocks of a worker are taken in the order of their numbers, each once.
func (r *Run) receive(subject string, data []byte) {
	index, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil || index < 0 || index >= len(r.parts) {
		return
	}
	m := r.parts[index]
	if err := r.order(m, data); err != nil {
		r.breakDown(fmt.Errorf("worker %s: %w", m.Name, err))
	}
}

// order takes a block if it is the next one of its worker, and those that waited for it. A block that came too early waits: a worker has
// at most mostUnsent blocks on their way. Only the goroutine that reads blocks calls it.
func (r *Run) order(m *part, data []byte) error {
	head, records, err := unpack(data)
	switch {
	case err != nil:
		return err
	case head.Seq < m.next:
		return nil // it came before
	case head.Seq > m.next && len(m.waiting) >= mostUnsent:
		return fmt.Errorf("block %d of its records is missing", m.next)
	case head.Seq > m.next:
		m.waiting[head.Seq] = data
		return nil
	}
	for {
		m.next++
		if err := r.take(m, &head, records); err != nil {
			return err
		}
		if data = m.waiting[m.next]; data == nil {
			return nil
		}
		delete(m.waiting, m.next)
		if head, records, err = unpack(data); err != nil {
			return err
		}
	}
}

// take passes the records of a block on.
func (r *Run) take(m *part, h *Head, records []byte) error {
	r.busy <- struct{}{}
	r.mu.Lock()
	ahead := m.clock.Ahead
	r.mu.Unlock()
	err := eachRecord(records, h.Records, func(rec *record.Record, data []byte) {
		shift(rec, ahead)
		rec.Slot = r.slot(rec.Slot, m.index)
		r.flying.Ended(rec)
		if r.collect != nil {
			r.collect(rec, nil, data)
		}
	})
	<-r.busy
	if err != nil {
		return err
	}
	r.lock(func() {
		if h.Failures == nil {
			h.Failures = m.head.Failures
		}
		if h.Gen < r.cleared { // of a load before
			h.Failures, h.Failed = nil, false
		}
		begins := h.Gen == r.gen && h.Began != 0 && (m.head.Gen != h.Gen || m.head.Began == 0)
		m.head, m.seen, m.mark, m.records = *h, clock.Now(), h.Mark-ahead, m.records+uint64(h.Records)
		m.vitals = vitals.Reading{CPU: h.CPU, Busy: h.Busy, Idle: h.Idle, Steal: h.Steal}
		m.gcPause, m.schedDelay, m.standstill = max(m.gcPause, h.GCPause), max(m.schedDelay, h.SchedDelay), max(m.standstill, h.Standstill)
		if begins {
			r.noteSkew()
		}
	})
	if h.Error != "" {
		return errors.New(cleantext.Line(h.Error))
	}
	r.judgeFailures()
	return nil
}

// noteSkew computes how far apart the workers began the last load, when all have begun it.
func (r *Run) noteSkew() {
	for r.begun < len(r.parts) && r.parts[r.begun].head.Gen == r.gen && r.parts[r.begun].head.Began != 0 {
		r.begun++
	}
	if r.begun < len(r.parts) {
		return
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, m := range r.parts {
		began := m.head.Began - m.clock.Ahead
		first, last = min(first, began), max(last, began)
	}
	r.skew = max(r.skew, last-first)
}

// judgeFailures ends the load when failures have ended it on every worker that is left.
func (r *Run) judgeFailures() {
	r.lock(func() {
		failed := false
		for _, m := range r.parts {
			if m.lost != "" {
				continue
			}
			if !m.head.Failed || m.head.Gen != r.gen {
				return
			}
			failed = true
		}
		if !failed {
			return
		}
		r.endLoad()
	})
}

// endLoad tells that failures have ended the load, or that the run cannot go on. The lock is held.
func (r *Run) endLoad() {
	select {
	case <-r.failed:
	default:
		close(r.failed)
	}
}

// Failed implements run.Load.
func (r *Run) Failed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// failures are those of all workers. Groups keep their places, so that a later list can be compared with an earlier one.
func (r *Run) failures() []engine.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		r.list[i].Count = 0
	}
	for _, m := range r.parts {
		for _, f := range m.head.Failures {
			i, fresh, others := r.groups.Of(fmt.Sprint(f.Class, f.Code), f.Text)
			if others {
				f.Text = engine.OtherFailures
			}
			if fresh {
				r.list = append(r.list, engine.Failure{Class: f.Class, Worker: f.Slot, Err: &service.Error{Class: f.Class, Code: f.Code, Text: f.Text}})
			}
			r.list[i].Count += f.Count
		}
	}
	return slices.Clone(r.list)
}

// clear forgets the failures before a load. The lock is held.
func (r *Run) clear(gen uint64) {
	r.cleared, r.list, r.groups = gen, nil, engine.Groups{}
	for _, m := range r.parts {
		m.head.Failures, m.head.Failed = nil, false
	}
	if r.broken == nil {
		r.failed = make(chan struct{})
	}
}

// workerErrors are the first failure of each worker that had one.
func (r *Run) workerErrors() []engine.WorkerError {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []engine.WorkerError
	for i, m := range r.parts {
		if len(m.head.Failures) > 0 {
			f := m.head.Failures[0]
			out = append(out, engine.WorkerError{Worker: i, Err: &service.Error{Class: f.Class, Code: f.Code, Text: f.Text}})
		}
	}
	return out
}
