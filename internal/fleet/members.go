package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/vitals"
)

// member is a worker of the run. crew.mu guards what changes.
type member struct {
	Hello
	index int

	newClock    offset // the newest; see adoptClocks
	newMeasured int64
	answered    int64 // when the worker answered, while no records came of it
	asked       bool  // it is being asked why it is silent
	lost        string
	lostAt      int64
}

// part is a worker as one load of the run knows it. crew.mu guards what changes.
type part struct {
	*member
	clock offset // in use

	joined  bool
	seen    int64 // when its last block or answer came
	head    Head
	vitals  vitals.Reading
	mark    int64 // everything that ended before is collected
	next    uint64
	waiting map[uint64][]byte // blocks that came before an earlier one, as they came
	records uint64
	// The longest times since the load began.
	gcPause, schedDelay, standstill time.Duration
}

// drift is by how much two clocks may part: the error of an offset grows with its age.
const drift = 100e-6

// keepClocksEvery is the time between two measurements of all clocks during a run.
const keepClocksEvery = 10 * time.Second

// lock calls fn while nothing of the run changes, and tells those who wait for a change.
func (r *crew) lock(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits until a condition holds; it is asked while nothing changes.
func (r *crew) await(ctx context.Context, holds func() bool) error {
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
}

// measureClocks measures the offset of every worker's clock.
func (r *crew) measureClocks(ctx context.Context) error {
	errs := make([]error, len(r.workers))
	r.each(func(m *member) { errs[m.index] = r.measureClock(ctx, m) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, m := range r.workers {
		if d := m.newClock.Wall; d.Abs() > offClock {
			where := "ahead of"
			if d < 0 {
				where = "behind"
			}
			r.conf.Warn("worker %s: its clock is %s %s this machine's; the measured times are corrected, but set the clock (NTP): certificates and logs depend on it", m.Name, d.Abs().Round(time.Second), where)
		}
	}
	return nil
}

func (r *crew) measureClock(ctx context.Context, m *member) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	o, err := estimate(ctx, func(ctx context.Context) (now, wall int64, err error) {
		answer, err := r.request(ctx, m, request{Kind: kindClock})
		return answer.Now, answer.Wall, err
	}, clock.Both)
	if err != nil {
		return fmt.Errorf("worker %s does not answer: %w", m.Name, err)
	}
	now := clock.Now()
	r.lock(func() {
		if aged := m.newClock.Error + int64(float64(now-m.newMeasured)*drift); m.newMeasured == 0 || o.Error <= aged {
			m.newClock, m.newMeasured = o, now
		}
	})
	return nil
}

// keepClocks measures the clocks again and again: they drift.
func (r *crew) keepClocks() {
	for clock.Sleep(r.ctx, keepClocksEvery) {
		r.each(func(m *member) {
			if r.alive(m) {
				_ = r.measureClock(r.ctx, m) // an old offset is better than none, and watch notices lost workers
			}
		})
	}
}

func (r *crew) alive(m *member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.lost == ""
}

// beat sends heartbeats to the workers.
func (r *crew) beat() {
	data := encode(request{Kind: kindHeartbeat, Epoch: r.claim.entry.Epoch})
	for {
		_ = r.bus.nc.Publish(runSubject(r.conf.Fleet.Run), data) // the next one comes soon
		if !clock.Sleep(r.ctx, heartbeatEvery) {
			return
		}
	}
}

// watch looks for workers that send nothing any more.
func (r *crew) watch() {
	last, away := clock.Now(), int64(0) // since when there is no connection
	for clock.Sleep(r.ctx, watchEvery) {
		now := clock.Now()
		if !r.bus.nc.IsConnected() {
			if away == 0 {
				away = last
			}
			if now-away > int64(CoordinatorTimeout) { // the workers have stopped
				r.breakDown(fmt.Errorf("the connection to NATS at %s was lost for %s", r.bus.at, CoordinatorTimeout))
				return
			}
		} else if away != 0 { // what the workers sent meanwhile is still to come
			r.lock(func() {
				for _, p := range r.allParts() {
					p.seen = max(p.seen, now)
				}
			})
			away = 0
		}
		last = now
		if away == 0 {
			r.lose(now)
		}
	}
}

// lose asks the workers that have been silent for a while, each beside the others, and gives those up that do not answer.
func (r *crew) lose(now int64) {
	newest := int64(0)
	r.mu.Lock()
	for _, p := range r.allParts() {
		newest = max(newest, p.seen)
		if p.lost != "" || p.asked || now-max(p.seen, p.answered) <= int64(workerTimeout-lastQuestion) {
			continue
		}
		m, seen := p.member, p.seen
		m.asked = true
		r.work.Go(func() { r.judge(m, seen, now) })
	}
	r.mu.Unlock()
	if now-newest > int64(unacknowledged) && newest != r.reconnected && r.bus.nc.IsConnected() {
		r.reconnected = newest
		_ = r.bus.nc.ForceReconnect() // no worker sends anything: our own connection may hang
	}
}

// judge asks a worker whose last block came at seen. The worker is lost if it gives no good answer and no block of it comes after now.
func (r *crew) judge(m *member, seen, now int64) {
	why := r.askWhy(m, seen)
	connected := r.bus.nc.IsConnected()
	lost, left := false, 0
	r.lock(func() {
		m.asked = false
		switch {
		case !connected || r.ctx.Err() != nil || r.heardSince(m, now): // without a connection nothing is known of a worker
		case why == "":
			m.answered = clock.Now()
		default:
			m.lost, m.lostAt, lost = why, clock.Wall(clock.Now()), true
		}
		for _, m := range r.workers {
			if m.lost == "" {
				left++
			}
		}
	})
	switch {
	case !lost:
		return
	case left == 0:
		r.breakDown(fmt.Errorf("all workers are lost; the last was %s: %s", m.Name, why))
	case r.conf.Fleet.OnLoss == plan.StopOnLoss:
		r.breakDown(fmt.Errorf("worker %s was lost: %s; --on-worker-loss %s ends the run", m.Name, why, plan.StopOnLoss))
	default:
		r.conf.Warn("worker %s was lost: %s; the run goes on without its share", m.Name, why)
	}
	for _, run := range r.runs {
		run.judgeFailures()
	}
}

// heardSince tells whether a worker sent a block after a time. The caller holds the lock.
func (r *crew) heardSince(m *member, at int64) bool {
	return slices.ContainsFunc(r.allParts(), func(p *part) bool { return p.member == m && p.seen > at })
}

// askWhy asks a worker of which no records came since a time why that is. The reason is empty for a worker that answers and works for the run: NATS
// may have its records soon.
func (r *crew) askWhy(m *member, seen int64) string {
	ctx, cancel := context.WithTimeout(r.ctx, lastQuestion)
	defer cancel()
	answer, err := r.request(ctx, m, request{Kind: kindClock})
	silent := time.Duration(clock.Now() - seen)
	switch {
	case err == nil && answer.Error != "":
		<-ctx.Done() // NATS may take its records yet
		return answer.Error
	case err == nil && answer.Run == r.conf.Fleet.Run && silent < recordsTimeout:
		return ""
	}
	return fmt.Sprintf("it sent nothing for %s", silent.Round(100*time.Millisecond))
}

// breakDown ends the run.
func (r *crew) breakDown(why error) {
	r.lock(func() {
		if r.broken != nil {
			return
		}
		r.broken = why
		for _, run := range r.runs {
			run.endLoad()
		}
	})
}
