package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
)

// DelayedAfter is the send lag from which a request is marked as delayed.
const DelayedAfter = time.Millisecond

// closeTime is how long requests of open sequences may take to end before the requests that close the sequences are sent.
const closeTime = 5 * time.Second

// flushEvery bounds how many late requests are gathered before they are flushed.
const flushEvery = 16

// Paced is the open loop: it sends requests at their due times until there are no more, or until Stop.
type Paced struct {
	// Slots is how many slots to begin with. Cap is the most requests in flight; more due requests wait.
	Slots, Cap int
	// Arrivals decides what is sent, and when. Nil sends at the times of Schedule, with the fields below.
	Arrivals Arrivals
	// Begin is the time from which due times count; 0 is when the loop begins to send.
	Begin int64

	Schedule pace.Schedule
	// Sources is how many sources fill in requests, Order says which of them is next. Seed is for a random order.
	Sources int
	// WholeSources is the number of sources of the whole load, of which other processes have the rest; 0 is Sources.
	WholeSources int
	Order        Order
	Seed         uint64
	// Workers is how many groups the sources form, each of neighbors; 0 is one group per source. When failures stop a
	// worker, its sources send nothing more.
	Workers int
	// Limit is how many requests are sent in all, each worker an equal part of them; 0 is no limit.
	Limit int
	// Ordered makes requests of one source reach the server in the order in which they are sent, also when several are in
	// flight. The transport must be a service.Tracker, and every load of an engine must have as many sources.
	Ordered bool

	e        *Engine
	free     *freeList
	tracks   int
	gathered int    // requests since the last flush
	flushAll func() // flush, made once: it must not be made for each request
	lastSent int64
	growing  atomic.Bool // slots are being made, or no more can be made
	grown    sync.WaitGroup
}

// Arrivals decides what an open loop sends, and when. The loop calls Next and Pick for each request. Both call flush before
// they wait for something. Only Ended is called on other goroutines.
type Arrivals interface {
	// Next returns when the next request is due, from the beginning of the load. It waits until that is known, not until
	// the request is due. ok is false if there are no more requests, or ctx has ended.
	Next(ctx context.Context, flush func()) (offset time.Duration, ok bool)
	// Pick returns the request at its due time. It may wait, for example for the end of another request. A Job without a
	// source is not sent. ok is false if the load is over.
	Pick(ctx context.Context, flush func()) (j Job, ok bool)
	// Ended is called when a job has ended. stop means that failures stop its worker. Ended returns false if the load is
	// over.
	Ended(index int, stop bool) bool
	// Close is called once, after the last Next or Pick. unsent means that the request of the last Next was not sent,
	// because the load was stopped. Close returns the sources whose open sequences are to be closed.
	Close(unsent bool) []Source
}

// Job is one request of Arrivals.
type Job struct {
	Source Source
	Index  int // names the job in Ended; an ordered loop sends it on track Index
	Worker int // whose failure it is if the request fails
}

func (p *Paced) prepare(ctx context.Context, e *Engine) error {
	p.e, p.tracks, p.flushAll = e, 1, p.flush
	if p.Ordered {
		p.tracks = p.Sources
		p.Slots, p.Cap = multiple(p.Slots, p.tracks), multiple(p.Cap, p.tracks)
		if err := e.track(p.tracks); err != nil {
			return err
		}
	}
	if err := e.grow(ctx, p.Slots); err != nil {
		return err
	}
	if p.Arrivals == nil {
		p.Arrivals = newTurns(e, p)
	}
	slots := e.snapshot()
	p.free = newFreeList(slots[:min(len(slots), max(p.Slots, p.Cap))], p.tracks)
	return nil
}

// multiple is n, or the next multiple of k.
func multiple(n, k int) int { return (n + k - 1) / k * k }

func (p *Paced) begin(ctx context.Context) {
	p.e.scheduled.Store(p.Begin)
	p.e.spawn(func() {
		unsent := !p.sendAll(ctx)
		p.flush()
		p.closeSources(context.WithoutCancel(ctx), p.Arrivals.Close(unsent))
		p.grown.Wait()
	})
}

// ended frees the slot.
func (p *Paced) ended(s *slot, stop bool) {
	s.since.Store(0)
	if s.call.Rec.Flags&record.Closing == 0 && !p.Arrivals.Ended(s.job, stop) {
		p.e.current.Load().cancel()
	}
	p.free.push(s)     // also after a failure: other workers use the slot
	p.e.active.Add(-1) // last: when no slot is active, the next load may begin
	p.e.notify()
}

// sendAll sends each request at its due time. It returns false if the load was stopped before a request that was known.
func (p *Paced) sendAll(ctx context.Context) bool {
	for {
		offset, ok := p.Arrivals.Next(ctx, p.flushAll)
		if !ok {
			return true
		}
		if p.e.stopped.Load() {
			return false
		}
		due := p.Begin + int64(offset)
		if due > clock.Now() {
			p.flush()
			if !clock.SleepUntil(ctx, due) {
				return false
			}
		}
		j, ok := p.Arrivals.Pick(ctx, p.flushAll)
		if !ok {
			return false
		}
		if j.Source == nil {
			continue
		}
		s := p.takeSlot(ctx, j.Index)
		if s == nil {
			return false
		}
		p.send(s, j, due)
	}
}

func (p *Paced) send(s *slot, j Job, due int64) {
	now := clock.Now()
	// The client is behind from when a request counts as delayed, or from the last send if that is later, until the send.
	if from := max(due+int64(DelayedAfter), p.lastSent); now > from {
		p.e.behind.Add(now - from)
	}
	p.lastSent = now
	var flags uint8
	if now-due > int64(DelayedAfter) {
		flags = record.Delayed
	}
	s.job = j.Index
	s.use(j.Source, j.Worker)
	p.e.active.Add(1)
	p.e.send(s, due, now, flags)
	if p.gathered++; p.gathered >= flushEvery {
		p.flush()
	}
}

func (p *Paced) flush() {
	if p.gathered > 0 {
		p.gathered = 0
		p.e.tr.Flush()
	}
}

// takeSlot takes a free slot, and waits for one if there is none. It returns nil when ctx has ended.
func (p *Paced) takeSlot(ctx context.Context, track int) *slot {
	for {
		s, left, total := p.free.pop(track)
		if all := total * p.tracks; left*4 < total && all < p.Cap {
			p.growMore(ctx, all)
		}
		if s != nil {
			return s
		}
		p.flush()
		select {
		case <-ctx.Done():
		case <-p.free.signal:
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// growMore doubles the slots in the background, so that dialing does not delay due requests.
func (p *Paced) growMore(ctx context.Context, total int) {
	if !p.growing.CompareAndSwap(false, true) {
		return
	}
	p.grown.Go(func() {
		n := min(total*2, p.Cap)
		if p.e.grow(ctx, n) != nil {
			return // no more slots are made; the wait for the slots there are shows as send lag
		}
		p.free.extend(p.e.snapshot()[:n])
		p.growing.Store(false)
	})
}

// closeSources closes what the sources have open. The request that closes a sequence must come after the others: if nothing
// else keeps the order, those must have ended.
func (p *Paced) closeSources(ctx context.Context, sources []Source) {
	if len(sources) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	p.growing.Store(true) // these few requests need no more slots
	for !p.Ordered && p.e.active.Load() > 0 && p.e.sleep(ctx, slotPollInterval) == nil {
	}
	for i, src := range sources {
		s := p.takeSlot(ctx, i)
		if s == nil {
			return
		}
		p.e.active.Add(1)
		if p.e.sendClosing(s, src) {
			p.gathered++
			continue
		}
		p.free.push(s)
		p.e.park(s)
	}
	p.flush()
}
