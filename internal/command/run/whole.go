package run

import (
	"runtime"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/vitals"
)

// whole is what all classes do together.
type whole struct {
	mu       sync.Mutex
	began    int64
	win      *measure.Window
	timeline *measure.Timeline
	pulse    *vitals.Pulse
	before   vitals.Reading
	progress map[*member]class.Progress
	workers  profile.Workers // nil if this process makes the load
	parts    profile.Parts
}

func newWhole(workers profile.Workers) *whole {
	w := &whole{progress: map[*member]class.Progress{}, pulse: vitals.StartPulse(), workers: workers}
	w.begin(clock.Now())
	return w
}

// begin starts the measurement at a time, when all classes are ready.
func (w *whole) begin(at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	setup := measure.Setup{Batch: 1, Open: true}
	w.began, w.before = at, vitals.Read()
	w.parts.Begin(w.workers, setup, at)
	w.win, w.timeline = measure.NewWindow(setup), measure.NewTimeline(setup, w.began)
	w.win.Begin(w.began)
}

// add counts a request of any class. As in the class itself, the latency of a closed loop starts at the send time, and so does
// that of an open loop with fromSend.
func (w *whole) add(lv *result.Level, fromSend bool, r *record.Record) {
	rec := *r
	if fromSend || !lv.Mode.Scheduled() {
		rec.Due = rec.Sent
	}
	w.win.Add(&rec)
	w.timeline.Add(&rec)
	w.parts.Add(&rec)
}

// level is what was measured until now.
func (w *whole) level() *result.Level {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := clock.Now()
	_, last := w.win.Span()
	if last <= w.began {
		last = now
	}
	took := time.Duration(last - w.began)
	usage := vitals.Read().Since(w.before)
	lv := &result.Level{Class: scenario.Whole, Accepted: true, Stable: true, Used: 1}
	lv.Client = w.win.Client(took)
	lv.Client.SendRate = float64(w.win.Ended()) / took.Seconds()
	load := measure.Load{
		SendRate: lv.Client.SendRate, Wall: took, Usage: usage,
		Standstill: w.pulse.Longest(w.began, last), MaxProcs: runtime.GOMAXPROCS(0),
	}
	w.parts.Judge(lv, &load) // the classes have the reasons
	lv.Health = w.win.Health(load)
	lv.Histogram, lv.Timeline = w.win.Histogram(), w.timeline.Result(last)
	lv.Windows = []result.Window{{StartUnixNs: clock.Wall(w.began), EndUnixNs: clock.Wall(last), Client: lv.Client}}
	return lv
}

// live is the level in progress, without what is costly to compute.
func (w *whole) live(s term.Status, inFlight int) *result.Level {
	w.mu.Lock()
	defer w.mu.Unlock()
	lv := &result.Level{Class: scenario.Whole, Stable: true}
	lv.Client = result.Client{Requests: s.Requests, Failed: s.Failed, InferPerSec: s.Rate, Latency: w.timeline.Latency()}
	lv.Health.AchievedInFlight = float64(inFlight)
	lv.Timeline = w.timeline.Result(clock.Now())
	return lv
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
	s.Median = w.win.Median()
	return s, inFlight
}
