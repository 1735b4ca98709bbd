package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/vitals"
)

var _ run.Load = (*Run)(nil)

// Open has the records of all workers passed to collect.
func (r *Run) Open(collect run.Collect) run.Load {
	r.alone(func() { r.collect = collect })
	return r
}

// Close implements run.Load: records that come now are of no use. End ends the run.
func (r *Run) Close() error {
	r.Open(nil)
	return nil
}

// broadcast asks all workers that have joined and are not lost, and returns their answers by number. It is repeated for those that do
// not answer, until they do or are lost.
func (r *Run) broadcast(ctx context.Context, q request) ([]*reply, error) {
	r.mu.Lock()
	r.number++
	q.Number, q.Epoch, q.Load = r.number, r.claim.entry.Epoch, r.index
	r.mu.Unlock()
	inbox := r.bus.nc.NewRespInbox()
	messages := make(chan *nats.Msg, 2*len(r.parts)+16)
	sub, err := r.bus.nc.ChanSubscribe(inbox, messages)
	if err != nil {
		return nil, fmt.Errorf("send a request to the workers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	answers := make([]*reply, len(r.parts))
	data := encode(q)
	again := time.NewTicker(repeatEvery)
	defer again.Stop()
	send := func() { _ = r.bus.nc.PublishRequest(runSubject(r.conf.Fleet.Run), inbox, data) } // repeated
	send()
	for {
		if !r.missing(answers) {
			return answers, nil
		}
		select {
		case m := <-messages:
			if a, err := readReply(m); err == nil && a.Index >= 0 && a.Index < len(answers) {
				answers[a.Index] = &a
				r.heard(r.parts[a.Index])
			}
		case <-again.C:
			send()
		case <-ctx.Done():
			return answers, ctx.Err()
		}
		if err := r.Broken(); err != nil {
			return answers, err
		}
	}
}

// missing tells whether a worker has yet to answer.
func (r *Run) missing(answers []*reply) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.parts, func(m *part) bool { return answers[m.index] == nil && m.joined && m.lost == "" })
}

// heard notes that a worker has answered. Blocks are not read while the workers are asked for their requests in flight: their answers
// say that they are alive.
func (r *Run) heard(m *part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.seen = clock.Now()
}

// refusal is the first error among answers.
func (r *Run) refusal(answers []*reply) error {
	for i, a := range answers {
		if a != nil && a.Error != "" {
			return fmt.Errorf("worker %s: %s", r.parts[i].Name, a.Error)
		}
	}
	return nil
}

// Begin implements run.Load: all workers prepare the load, then begin it at a common time. It returns after that time: a window that
// is opened next has load from its first moment.
func (r *Run) Begin(ctx context.Context, o run.Order) error {
	if lv := o.Level; lv != nil {
		o.Level = &result.Level{Mode: lv.Mode, Concurrency: lv.Concurrency, Rate: lv.Rate, Stages: lv.Stages}
	}
	at, err := r.begin(ctx, o)
	if err == nil {
		clock.SleepUntil(ctx, at)
	}
	return err
}

func (r *Run) begin(ctx context.Context, o run.Order) (at int64, err error) {
	var gen uint64
	q := request{Kind: kindOrder, Order: o}
	r.lock(func() {
		r.adoptClocks()
		gen = r.gen + 1
		q.Gen = gen
		if o.Clear {
			r.clear(gen)
		}
		for _, m := range r.parts {
			m.gcPause, m.schedDelay, m.standstill = 0, 0, 0
		}
	})
	answers, err := r.broadcast(ctx, q)
	if err == nil {
		err = r.refusal(answers)
	}
	if err != nil {
		return 0, err
	}
	at = max(clock.Now()+int64(r.lead()), r.notBefore)
	r.notBefore = 0
	q = request{Kind: kindGo, At: make([]int64, len(r.parts))}
	r.lock(func() {
		r.gen, r.start, r.begun = gen, at, 0
		for _, m := range r.parts {
			q.At[m.index] = at + m.clock.Ahead
		}
	})
	if o.Starts != nil {
		r.alone(func() {
			s := r.state(run.Vitals)
			o.Starts(at, &s)
		})
	}
	if answers, err = r.broadcast(ctx, q); err == nil {
		err = r.refusal(answers)
	}
	return at, err
}

// StartAt sets the time at which the next load begins, unless the workers are ready only after it: the loads of several classes begin
// together.
func (r *Run) StartAt(at int64) { r.notBefore = at }

// lead is how long before its time a start is announced: several ways of a message, and the time to send it to all.
func (r *Run) lead() time.Duration {
	most := int64(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.parts {
		most = max(most, m.clock.Error)
	}
	return 50*time.Millisecond + time.Duration(8*most) + time.Duration(len(r.parts))*50*time.Microsecond
}

// Stop implements run.Load.
func (r *Run) Stop() { r.tell(r.ctx, kindStop) }

// tell is a broadcast whose answers say nothing.
func (r *Run) tell(ctx context.Context, kind string) {
	ctx, cancel := context.WithTimeout(ctx, 2*workerTimeout)
	defer cancel()
	_, _ = r.broadcast(ctx, request{Kind: kind}) // a worker that does not hear it is lost, or hears it when it is asked again
}

// working tells whether a worker has a request in flight or will yet send one. The lock is held.
func (r *Run) working() bool {
	return slices.ContainsFunc(r.parts, func(m *part) bool { return m.lost == "" && (m.head.Gen != r.gen || m.head.Working) })
}

// Wait implements run.Load.
func (r *Run) Wait(ctx context.Context) error {
	return r.await(ctx, func() bool { return !r.working() || r.broken != nil })
}

// Cut implements run.Load.
func (r *Run) Cut() {
	r.tell(r.ctx, kindCut)
	settle, cancel := context.WithTimeout(r.ctx, workerTimeout)
	defer cancel()
	_ = r.Wait(settle) // the end of the run does not depend on it
}

// Sync implements run.Load.
func (r *Run) Sync(d run.Detail, fn func(*run.State)) {
	var s run.State
	if d == run.Exact {
		r.awaitRecords()
	}
	r.alone(func() {
		if s = r.state(d); d < run.Flights {
			fn(&s)
		} else {
			r.flying.Begin(r.flights())
		}
	})
	if d == run.Flights {
		r.awaitRecords()
		r.alone(func() {
			s.Flights = r.flying.End()
			fn(&s)
		})
	}
}

// awaitRecords waits until the records of all requests that have ended until now are passed on.
func (r *Run) awaitRecords() {
	now := clock.Now()
	_ = r.await(context.Background(), func() bool {
		return r.broken != nil || !slices.ContainsFunc(r.parts, func(m *part) bool { return m.lost == "" && m.mark < now })
	})
}

// alone calls fn while no record is passed on.
func (r *Run) alone(fn func()) {
	r.busy <- struct{}{}
	defer func() { <-r.busy }()
	fn()
}

// flights asks the workers for their requests in flight.
func (r *Run) flights() []engine.Flight {
	ctx, cancel := context.WithTimeout(r.ctx, 2*workerTimeout)
	defer cancel()
	answers, _ := r.broadcast(ctx, request{Kind: kindFlights}) // a lost worker has none
	r.mu.Lock()
	defer r.mu.Unlock()
	r.adoptClocks()
	var out []engine.Flight
	for i, a := range answers {
		if a == nil {
			continue
		}
		list, _ := unpackFlights(a.Flights) // a damaged list is empty: it only says what was in flight at the end of a window
		ahead := r.parts[i].clock.Ahead
		for _, f := range list {
			out = append(out, engine.Flight{Slot: int(r.slot(uint32(f.Slot), i)), Due: f.Due - ahead, Sent: f.Sent - ahead})
		}
	}
	return out
}

// adoptClocks begins to use the offsets that were measured last. That happens only where a load begins or a window ends: a request that
// is listed as in flight then has the same times in its record.
func (r *Run) adoptClocks() {
	for _, m := range r.parts {
		m.clock = m.newClock
	}
}

// slot is the number of a worker's slot in the whole fleet.
func (r *Run) slot(slot uint32, index int) uint32 { return slot*uint32(len(r.parts)) + uint32(index) }

// state adds up what the workers have told. Behind is their mean.
func (r *Run) state(d run.Detail) run.State {
	s := run.State{State: measure.State{Workers: r.Readings()}, Failures: r.failures(), WorkerErrors: r.workerErrors()}
	if d >= run.Vitals {
		s.Vitals = vitals.Read()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Working, s.Scheduled, s.Err, s.At = r.working(), r.start, r.broken, clock.Now()
	for i, m := range r.parts {
		s.Sent += m.head.Sent
		s.Dropped += m.head.Dropped
		s.Behind += m.head.Behind
		s.Stalled += m.head.Stalled
		s.Connections += m.head.Connections
		s.Busiest = max(s.Busiest, m.head.Busiest)
		s.InFlight += s.Workers[i].InFlight
	}
	s.Behind /= time.Duration(len(r.parts))
	return s
}

// Readings are what the workers have counted until now, in the order of their numbers.
func (r *Run) Readings() []measure.Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]measure.Reading, len(r.parts))
	for i, m := range r.parts {
		out[i] = measure.Reading{
			Name: m.Name, At: m.mark, MaxProcs: m.MaxProcs, Lost: m.lost, Dropped: m.head.Dropped, Stalled: m.head.Stalled, Vitals: m.vitals,
			GCPause: m.gcPause, SchedDelay: m.schedDelay, Standstill: m.standstill, Connections: m.head.Connections, Busiest: m.head.Busiest,
		}
		if m.lost == "" {
			out[i].InFlight = m.head.InFlight
		}
	}
	return out
}

// Broken is why the workers cannot go on; nil while they can.
func (r *crew) Broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// Ended keeps a level that is over for a coordinator that takes the run up, and lets go of its records. The level of a search is nil: the
// search keeps it.
func (r *Run) Ended(ctx context.Context, lv *result.Level, limits []result.Reason) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordsTimeout)
	defer cancel()
	if lv != nil {
		err := insist(ctx, func() error { return r.keep(ctx, levelObject(r.levels), run.Done{Level: *lv, Limits: limits}) })
		if err != nil {
			return err
		}
		r.levels++
	}
	r.mu.Lock()
	until := r.sequence + 1
	r.mu.Unlock()
	err := insist(ctx, func() error {
		return r.stream.Purge(ctx, jetstream.WithPurgeSubject(r.subjects()), jetstream.WithPurgeSequence(until))
	})
	return r.bus.explainJetStream("remove records of a level that is over", err)
}

// insist repeats what fails until it succeeds or ctx ends: a NATS server that was started again needs a moment.
func insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !clock.Sleep(ctx, resendAfter) {
			return err
		}
	}
}
