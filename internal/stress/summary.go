package stress

import (
	"math/bits"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/stats"
)

// Tally has the counts of a run.
type Tally struct {
	Common   [numPatterns]int `json:"-"`
	Rare     [numPatterns]int `json:"-"`
	Ended    int              `json:"iterations_ended"`
	Requests uint64           `json:"requests"`
	Checked  uint64           `json:"results_checked"`
	// RefusedExpected counts requests that must be refused, RefusedAsExpected those that were.
	RefusedExpected   int           `json:"refusals_expected"`
	RefusedAsExpected int           `json:"refusals_got"`
	Faults            map[Fault]int `json:"faults,omitempty"`
	Disturbed         int           `json:"disturbed"`
	Unjudged          int           `json:"unjudged"` // an earlier disturbance made the expected response unknown
	Expired           int           `json:"expired"`  // the server forgot the sequence while it waited for a slot
}

func (t *Tally) sent(p *Pass, rare bool) {
	if rare {
		t.Rare[p.Pattern]++
	} else {
		t.Common[p.Pattern]++
	}
	for i := range p.Steps {
		if p.Steps[i].Refused {
			t.RefusedExpected++
		}
	}
}

func (t *Tally) fault(f Fault) {
	if t.Faults == nil {
		t.Faults = map[Fault]int{}
	}
	t.Faults[f]++
}

func (t *Tally) add(o *Tally) {
	for p := range t.Common {
		t.Common[p] += o.Common[p]
		t.Rare[p] += o.Rare[p]
	}
	t.Ended += o.Ended
	t.Requests += o.Requests
	t.Checked += o.Checked
	t.RefusedExpected += o.RefusedExpected
	t.RefusedAsExpected += o.RefusedAsExpected
	t.Disturbed += o.Disturbed
	t.Unjudged += o.Unjudged
	t.Expired += o.Expired
	for f, n := range o.Faults {
		for range n {
			t.fault(f)
		}
	}
}

// Summary is the outcome of a run.
type Summary struct {
	Model       string                    `json:"model"`
	Seed        uint32                    `json:"seed"`
	Threads     int                       `json:"threads"`
	Took        time.Duration             `json:"took_ns"`
	Patterns    map[string]map[string]int `json:"patterns"`
	Tally       Tally                     `json:"tally"`
	Places      []Place                   `json:"latency_by_position"`
	Failures    []*Failure                `json:"failures,omitempty"`
	Cuts        int                       `json:"connections_cut,omitempty"`
	Unloads     int                       `json:"model_unloads,omitempty"`
	Interrupted bool                      `json:"interrupted,omitempty"`
	Error       string                    `json:"error,omitempty"` // why the run could not be done
	Server      []service.ModelStats      `json:"server,omitempty"`
	Level       *result.Level             `json:"-"` // what was measured
}

// Passed reports whether the server did everything right.
func (s *Summary) Passed() bool { return len(s.Failures) == 0 }

// Failure is one failed sequence.
type Failure struct {
	Fault     Fault   `json:"fault"`
	Text      string  `json:"text"`
	Thread    int     `json:"thread"`
	Iteration int     `json:"iteration"`
	ID        string  `json:"correlation_id"`
	Pattern   string  `json:"pattern"`
	Lengths   []int   `json:"lengths"`
	History   []Event `json:"history"`
	Replay    string  `json:"replay"`
}

// Place is a range of positions in a sequence, from 1, with the latency of the requests there.
type Place struct {
	First int           `json:"first"`
	Last  int           `json:"last,omitempty"` // 0 for no end
	Count uint64        `json:"requests"`
	Avg   time.Duration `json:"avg_ns"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

// Places double in size: 1, 2, 3-4, 5-8, ...
const numPlaces = 8

// place collects the latencies of a range of positions.
type place struct {
	mu sync.Mutex
	stats.Sample[int64]
}

func (p *place) add(latency int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Add(latency)
}

func placeOf(position int) int { return min(bits.Len32(uint32(position)), numPlaces-1) }

func placeRange(i int) (first, last int) {
	switch i {
	case 0:
		return 1, 1
	case numPlaces - 1:
		return 1<<(i-1) + 1, 0
	}
	return 1<<(i-1) + 1, 1 << i
}

func (r *run) summary() *Summary {
	s := &Summary{
		Model: r.cfg.Model.Name, Seed: r.plan.Seed, Threads: r.plan.Threads, Took: time.Duration(clock.Now() - r.began),
		Tally: r.tally(), Patterns: map[string]map[string]int{}, Level: r.meter.level(r.plan.Threads),
	}
	for _, p := range Patterns() {
		s.Patterns[p.String()] = map[string]int{"common": s.Tally.Common[p], "rare": s.Tally.Rare[p]}
	}
	for i := range r.places {
		p := &r.places[i]
		if p.Count() == 0 {
			continue
		}
		q := p.Quantiles(50, 99)
		first, last := placeRange(i)
		s.Places = append(s.Places, Place{
			First: first, Last: last, Count: p.Count(), Avg: time.Duration(p.Mean()),
			P50: time.Duration(q[0]), P99: time.Duration(q[1]), Max: time.Duration(p.Max()),
		})
	}
	if r.cfg.Cutter != nil {
		s.Cuts = r.cfg.Cutter.count()
	}
	s.Unloads = int(r.unloads.Load())
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Failures = r.failures
	return s
}

func (r *run) tally() Tally {
	var all Tally
	for _, t := range r.threads {
		t.mu.Lock()
		all.add(&t.tally)
		t.mu.Unlock()
	}
	return all
}

// rate computes the current rate.
type rate struct {
	count uint64
	since int64
	shown float64
}

// look returns the rate of count over the last second or more.
func (w *rate) look(now int64, count uint64) float64 {
	if w.since == 0 {
		w.since = now
	}
	if d := now - w.since; d >= int64(time.Second) || w.shown == 0 && d > 0 {
		w.shown = float64(count-w.count) / (float64(d) / 1e9)
		if d >= int64(time.Second) {
			w.since, w.count = now, count
		}
	}
	return w.shown
}

func (r *run) progress() Progress {
	t := r.tally()
	r.mu.Lock()
	failures := len(r.failures)
	r.mu.Unlock()
	now := clock.Now()
	p := Progress{
		Passes: t.Ended, Requests: t.Requests, Failures: failures, Rate: r.rate.look(now, t.Checked), Elapsed: time.Duration(now - r.began),
		Live: func() *result.Level { return r.meter.level(r.plan.Threads) },
	}
	if r.plan.Iterations > 0 && r.plan.Duration == 0 {
		p.Wanted = r.plan.Iterations * r.plan.Threads
	}
	return p
}
