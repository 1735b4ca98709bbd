package fleet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/vitals"
)

// block is a block of records that has come.
type block struct {
	head    Head
	records []byte
}

// prefetch limits the blocks that are on their way to the coordinator; memory does not grow with the records.
const prefetch = 64

func purgeBelow(sequence uint64) jetstream.StreamPurgeOpt {
	return jetstream.WithPurgeSequence(sequence)
}

// consume begins to read the blocks of the workers.
func (r *Run) consume() error {
	consumer, err := r.stream.OrderedConsumer(r.ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{fmt.Sprintf("redline.records.%s.%d.*", r.conf.Fleet.Run, r.claim.entry.Epoch)},
	})
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(prefetch), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		return r.bus.explainJetStream("read the records", err)
	}
	r.work.Go(func() {
		<-r.ctx.Done()
		messages.Stop()
	})
	r.work.Go(func() {
		for {
			msg, err := messages.Next()
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
				return
			}
			if err == nil {
				r.receive(msg)
			}
		}
	})
	return nil
}

// receive takes a block in. Blocks of a worker are taken in the order of their numbers, each once.
func (r *Run) receive(msg jetstream.Msg) {
	subject := msg.Subject()
	index, err := strconv.Atoi(subject[strings.LastIndexByte(subject, '.')+1:])
	if err != nil || index < 0 || index >= len(r.members) {
		return
	}
	head, records, err := unpack(msg.Data())
	if err != nil {
		r.breakDown(err)
		return
	}
	m := r.members[index]
	m.waiting[head.Seq] = &block{head, records} // only this goroutine uses it
	if head.Seq < m.next {
		delete(m.waiting, head.Seq)
	}
	for {
		b := m.waiting[m.next]
		if b == nil {
			break
		}
		delete(m.waiting, m.next)
		m.next++
		r.take(m, b)
	}
	if meta, err := msg.Metadata(); err == nil {
		r.lock(func() { r.sequence = meta.Sequence.Stream })
	}
}

// take passes the records of a block on.
func (r *Run) take(m *member, b *block) {
	r.mu.Lock()
	ahead := m.clock.Ahead
	r.mu.Unlock()
	r.busy <- struct{}{}
	err := eachRecord(b.records, b.head.Records, func(rec *record.Record) {
		shift(rec, ahead)
		rec.Slot = r.slot(rec.Slot, m.index)
		if r.collect != nil {
			r.collect(rec, nil, nil)
		}
	})
	<-r.busy
	if err != nil {
		r.breakDown(err)
		return
	}
	r.lock(func() {
		h := &b.head
		if h.Failures == nil {
			h.Failures = m.head.Failures
		}
		if r.clear || h.Gen < r.cleared { // of a load before
			h.Failures, h.Failed = nil, false
		}
		m.head, m.seen, m.mark, m.records = *h, clock.Now(), h.Mark-ahead, m.records+uint64(h.Records)
		m.vitals = vitals.Reading{CPU: h.CPU, Busy: h.Busy, Idle: h.Idle}
		m.gcPause, m.schedDelay, m.standstill = max(m.gcPause, h.GCPause), max(m.schedDelay, h.SchedDelay), max(m.standstill, h.Standstill)
		r.noteSkew()
	})
	r.judgeFailures()
}

// noteSkew computes how far apart the workers began the last load.
func (r *Run) noteSkew() {
	first, last := int64(0), int64(0)
	for i, m := range r.members {
		if m.head.Gen != r.gen || m.head.Began == 0 {
			return
		}
		began := m.head.Began - m.clock.Ahead
		if i == 0 {
			first, last = began, began
		}
		first, last = min(first, began), max(last, began)
	}
	r.skew = max(r.skew, last-first)
}

// group is failures of all workers with the same class and text.
type group struct {
	failure engine.Failure
	key     string
}

// judgeFailures ends the load when failures have ended it on every worker that is left.
func (r *Run) judgeFailures() {
	r.lock(func() {
		failed := false
		for _, m := range r.members {
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
		select {
		case <-r.failed:
		default:
			close(r.failed)
		}
	})
}

// Failed implements profile.Load.
func (r *Run) Failed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Failures implements profile.Load. Groups keep their places, so that a later list can be compared with an earlier one.
func (r *Run) Failures() []engine.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		g.failure.Count = 0
	}
	for _, m := range r.members {
		for _, f := range m.head.Failures {
			key := fmt.Sprint(f.Class, f.Code, engine.Mask(f.Text))
			g := r.group(key)
			if g == nil {
				g = &group{key: key, failure: engine.Failure{Class: f.Class, Worker: f.Slot, Err: &service.Error{Class: f.Class, Code: f.Code, Text: f.Text}}}
				r.groups = append(r.groups, g)
			}
			g.failure.Count += f.Count
		}
	}
	out := make([]engine.Failure, len(r.groups))
	for i, g := range r.groups {
		out[i] = g.failure
	}
	return out
}

func (r *Run) group(key string) *group {
	for _, g := range r.groups {
		if g.key == key {
			return g
		}
	}
	return nil
}

// ClearFailures implements profile.Load: the next load begins without failures.
func (r *Run) ClearFailures() {
	r.lock(func() {
		r.clear, r.groups = true, nil
		for _, m := range r.members {
			m.head.Failures, m.head.Failed = nil, false
		}
		if r.broken == nil {
			r.failed = make(chan struct{})
		}
	})
}

// WorkerErrors implements profile.Load: the first failure of each worker that had one.
func (r *Run) WorkerErrors() []engine.WorkerError {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []engine.WorkerError
	for i, m := range r.members {
		if len(m.head.Failures) > 0 {
			f := m.head.Failures[0]
			out = append(out, engine.WorkerError{Worker: i, Err: &service.Error{Class: f.Class, Code: f.Code, Text: f.Text}})
		}
	}
	return out
}
