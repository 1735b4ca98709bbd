package run

import (
	"runtime"
	"sync"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/vitals"
)

// whole is what all classes do together.
type whole struct {
	mu       sync.Mutex
	rec      *measure.Recorder
	pulse    *vitals.Pulse
	progress map[*member]class.Progress
	workers  func() []measure.Reading
}

func newWhole(workers func() []measure.Reading) *whole {
	w := &whole{progress: map[*member]class.Progress{}, pulse: vitals.StartPulse(), workers: workers}
	w.begin(clock.Now())
	return w
}

// begin starts the measurement at a time, when all classes are ready.
func (w *whole) begin(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	state := w.state(at)
	w.rec = measure.New(measure.Config{Setup: measure.Setup{Batch: 1, Open: true}, Timeline: true})
	w.rec.Begin(at, &state)
}

// state is a reading of this process and of the workers.
func (w *whole) state(at int64) measure.State {
	return measure.State{At: at, Vitals: vitals.Read(), Workers: w.workers()}
}

// add counts a request of any class. As in the class itself, the latency of a closed loop starts at the send time, and so does
// that of an open loop with fromSend.
func (w *whole) add(lv *result.Level, fromSend bool, r *record.Record) {
	rec := *r
	if fromSend || !lv.Mode.Scheduled() {
		rec.Due = rec.Sent
	}
	w.rec.Add(&rec)
}

// level is what was measured until now.
func (w *whole) level() *result.Level {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, last := w.rec.Span()
	if last <= w.rec.From() {
		last = clock.Now()
	}
	state := w.state(last)
	asked := measure.Asked{Pulse: w.pulse, MaxProcs: runtime.GOMAXPROCS(0)}
	lv, _ := w.rec.Until(last, &state, nil).Level(result.Level{Class: scenario.Whole, Accepted: true, Stable: true}, &asked)
	lv.ClientLimited = false // the classes have the reasons
	return &lv
}

// live is the level in progress, without what is costly to compute.
func (w *whole) live(s term.Status, inFlight int) *result.Level {
	w.mu.Lock()
	defer w.mu.Unlock()
	lv := result.Level{Class: scenario.Whole, Stable: true}
	lv.Health.AchievedInFlight = float64(inFlight)
	out := w.rec.Live(lv, clock.Now(), s.Rate, w.workers())
	out.Client.Requests, out.Client.Failed = s.Requests, s.Failed
	return out
}

// ended keeps the counts of a class that is over; it sends nothing more.
func (w *whole) ended(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.progress[m]
	w.progress[m] = class.Progress{Elapsed: p.Elapsed, Requests: p.Requests, Failed: p.Failed}
}

// status adds up how the classes go on.
func (w *whole) status(m *member, p class.Progress) (s term.Status, inFlight int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress[m] = p
	s.Level = scenario.Whole
	for _, p := range w.progress {
		if p.Warmup {
			s.Level = "warm-up"
		}
		s.Requests += p.Requests
		s.Failed += p.Failed
		s.Rate += p.Rate
		s.Elapsed = max(s.Elapsed, p.Elapsed)
		inFlight += p.InFlight
	}
	s.Median = w.rec.Median()
	return s, inFlight
}
