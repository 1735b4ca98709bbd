package measure

import (
	"cmp"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
)

// Config says what a Recorder collects.
type Config struct {
	Setup
	// Timeline collects what happened over time, and the histogram of the headline latency; Intervals collects what
	// confidence intervals are computed from.
	Timeline, Intervals bool
	// Span has rates cover the time from the first send to the last response, not the whole measured time.
	Span bool
}

// State is a reading of what makes a load: of the engine of this process, or of all workers of a fleet. Counts grow from the start of the
// process.
type State struct {
	At          int64 // when it was read
	Vitals      vitals.Reading
	Sent        uint64
	Dropped     uint64        // requests that were due and never sent
	Behind      time.Duration // time in which a request was due and not sent
	Stalled     time.Duration // how long ended requests waited until the records of earlier ones were written
	Connections int           // connections that carry many requests at once
	Busiest     time.Duration // how long the busiest of them has worked
	Workers     []Reading     // of a fleet
}

// Recorder collects the records of a measured time and makes a level of them. Each window of a level, each class of a scenario and each
// look at a load in progress is a Recorder; Merge joins them.
type Recorder struct {
	Window
	conf     Config
	timeline *Timeline // nil without Config.Timeline; the windows of a level share one
	series   *Series   // nil without Config.Intervals
	workers  workers

	first, last  State
	sent         uint64        // requests that were sent in the measured time
	sending      time.Duration // the time over which sent was counted
	wall, took   time.Duration // the measured time, and the part of it that rates are divided by
	idle, paused time.Duration // of the slots, as told by Idle
}

// New makes an empty Recorder.
func New(c Config) *Recorder {
	r := &Recorder{Window: Window{setup: c.Setup}, conf: c}
	if c.Intervals {
		r.series = NewSeries(c.Setup)
	}
	return r
}

// Begin starts the measured time.
func (r *Recorder) Begin(from int64, s *State) {
	r.Window.Begin(from)
	r.first = *s
	if r.conf.Timeline && r.timeline == nil {
		r.timeline = NewTimeline(r.conf.Setup, from)
	}
	r.workers.begin(len(s.Workers), r.conf.Setup, from)
}

// From is the start of the measured time.
func (r *Recorder) From() int64 { return r.from }

// Next starts the Recorder of the window after r, which has ended. Both have one timeline.
func (r *Recorder) Next() *Recorder {
	n := New(r.conf)
	n.timeline, n.workers.past = r.timeline, r.workers.sum()
	n.Begin(r.until, &r.last)
	return n
}

// Add takes one record in.
func (r *Recorder) Add(rec *record.Record) {
	r.Window.Add(rec)
	r.workers.add(rec)
	if r.timeline != nil {
		r.timeline.Add(rec)
	}
	if r.series != nil {
		r.series.Add(rec)
	}
}

// Token adds tokens to the timeline; see Timeline.Token.
func (r *Recorder) Token(at, gap int64, n float64) {
	if r.timeline != nil {
		r.timeline.Token(at, gap, n)
	}
}

// Idle adds the time between two requests of a slot: paused is what was asked for, idle the rest.
func (r *Recorder) Idle(idle, paused time.Duration) {
	r.idle += idle
	r.paused += paused
}

// Forget drops what a level needs of a window that will not be merged. Its counts stay.
func (r *Recorder) Forget() {
	r.Window.Forget()
	r.workers = workers{}
	r.first.Workers, r.last.Workers = nil, nil
}

// End ends the measured time, with the requests that are in flight then.
func (r *Recorder) End(until int64, s *State, pending []Pending) {
	r.last = *s
	r.Close(until, pending)
	r.workers.pending(pending, until)
	r.sent, r.sending = s.Sent-r.first.Sent, time.Duration(s.At-r.first.At)
	if r.workers.parts != nil { // workers tell their counts a moment later
		r.sent, r.sending = r.workers.sent(), time.Duration(until-r.from)
	}
	r.wall = time.Duration(until - r.from)
	from, to := r.rated()
	r.took = time.Duration(to - from)
}

// rated is the time that rates are divided by, in one window.
func (r *Recorder) rated() (from, to int64) {
	if first, last := r.Span(); r.conf.Span && last > max(first, r.from) {
		return max(first, r.from), last
	}
	return r.from, r.until
}

// Merge takes all of o in, which has ended: the next window of a level.
func (r *Recorder) Merge(o *Recorder) {
	if r.wall == 0 {
		r.from, r.first = o.from, o.first
	}
	if r.timeline == nil {
		r.timeline = o.timeline
	}
	r.Window.Merge(&o.Window)
	r.workers.merge(&o.workers)
	r.last = o.last
	r.sent += o.sent
	r.sending += o.sending
	r.wall += o.wall
	r.took += o.took
	r.Idle(o.idle, o.paused)
}

// Until is a copy of r that ends now, for a look at a load that goes on. The copy is valid until a record is added to r.
func (r *Recorder) Until(now int64, s *State, pending []Pending) *Recorder {
	c := New(Config{Setup: r.conf.Setup, Span: r.conf.Span})
	c.timeline, c.series = r.timeline, r.series
	c.Begin(r.from, &r.first)
	c.Window.Merge(&r.Window)
	c.workers.merge(&r.workers)
	c.Idle(r.idle, r.paused)
	c.End(now, s, pending)
	return c
}

// Asked is the load that a level asked for, and how the level is judged.
type Asked struct {
	Concurrency int     // requests in flight; 0 in open loop
	Rate        float64 // requests per second; 0 in closed loop
	// Due is how many requests the schedule had between two times; nil if it is known from the requests alone: see Fixed.
	Due func(from, until int64) float64
	// Fixed: the load has a fixed number of requests. Its schedule, if any, began at Scheduled.
	Fixed     bool
	Scheduled int64
	// Steady: rates do not depend on how long the first and the last response took; see Window.Steady.
	Steady bool
	// ThinkTime: slots pause as asked between two requests.
	ThinkTime bool
	// Threads, if above 0, send synchronously: a thread is idle while it waits for a response and until a request is due.
	Threads int
	Held    bool // see Load
	Cap     int
	Serial  bool
	// Share is the load that worker i of n was asked for; nil if the workers are judged together.
	Share      func(i, n int) (concurrency int, rate float64)
	Pulse      *vitals.Pulse // of this process; nil if nothing watched it
	MaxProcs   int
	Confidence float64 // of intervals; 0 computes none
	Options    Options
}

// Level makes a level of the records: head has its load and, if it has several, its windows. It also returns the reasons why the client
// limited the level.
func (r *Recorder) Level(head result.Level, a *Asked) (result.Level, []result.Reason) {
	lv := head
	lv.Client = r.client(a)
	if r.series != nil && a.Confidence > 0 {
		r.series.AddIntervals(&lv.Client, a.Confidence)
	}
	if lv.Windows == nil {
		lv.Used, lv.Windows = 1, []result.Window{r.window(lv.Client)}
	}
	if r.timeline != nil {
		lv.Histogram, lv.Timeline = r.Histogram(), r.timeline.Result(r.until)
		lv.Batches = r.timeline.Batches(r.rated())
	}
	l := r.load(a)
	var reasons []result.Reason
	if r.workers.parts != nil {
		lv.Workers, reasons = r.judgeWorkers(&l, a)
	}
	lv.Health = r.Window.Health(l)
	reasons = append(reasons, Judge(&lv, l)...)
	lv.ClientLimited = len(reasons) > 0
	return lv, reasons
}

// Result is the measured time as a window of a level.
func (r *Recorder) Result(a *Asked) result.Window { return r.window(r.client(a)) }

func (r *Recorder) window(c result.Client) result.Window {
	return result.Window{StartUnixNs: clock.Wall(r.from), EndUnixNs: clock.Wall(r.until), Client: c}
}

// client computes the client's numbers.
func (r *Recorder) client(a *Asked) result.Client {
	c := r.Client(r.took)
	if a.Steady {
		r.Steady(&c)
	}
	l := r.load(a)
	c.SendRate = l.SendRate
	if a.Fixed && !a.Steady {
		c.SendRate = r.sendRate(a)
	}
	c.OverheadPercent = r.overhead(a, &l)
	return c
}

// sendRate is how many requests were sent per second. A slot of a closed loop sends when a request ends.
func (r *Recorder) sendRate(a *Asked) float64 {
	switch {
	case a.Concurrency > 0 || r.sending <= 0:
		return float64(r.Ended()) / max(time.Nanosecond, r.took).Seconds()
	case a.Fixed:
		return float64(r.sent) / max(time.Nanosecond, r.took).Seconds()
	}
	return float64(r.sent) / r.sending.Seconds()
}

// load is the load that was asked for, and the resources that the client used for it.
func (r *Recorder) load(a *Asked) Load {
	l := Load{
		Concurrency: a.Concurrency, Rate: a.Rate, Held: a.Held, Cap: a.Cap, Serial: a.Serial, Options: a.Options,
		SendRate: r.sendRate(a), Wall: r.wall, Usage: r.last.Vitals.Since(r.first.Vitals), MaxProcs: a.MaxProcs,
		Stalled: r.last.Stalled - r.first.Stalled, Dropped: r.last.Dropped - r.first.Dropped,
		Connections: r.last.Connections, ConnectionBusy: r.last.Busiest - r.first.Busiest,
		Idle: r.idle, Paused: r.paused,
	}
	if a.Pulse != nil {
		l.Standstill = a.Pulse.Longest(r.from, r.until)
	}
	switch {
	case a.Fixed:
		r.FixedLoad(&l, a.Scheduled)
		l.FlightTime = cmp.Or(l.FlightTime, r.took)
	case a.Due != nil && a.Rate > 0 && r.sending > 0:
		l.Due = a.Due(r.sentFrom(), r.sentFrom()+int64(r.sending))
		l.Rate = l.Due / r.sending.Seconds()
	}
	if a.ThinkTime {
		l.Idle, l.Paused = r.Think(l.Concurrency, cmp.Or(l.FlightTime, r.took))
	}
	return l
}

// sentFrom is when the count of sent requests began.
func (r *Recorder) sentFrom() int64 {
	if r.workers.parts != nil {
		return r.from
	}
	return r.first.At
}

// overhead is the share of the time, in percent, in which a request should have been in flight and was not.
func (r *Recorder) overhead(a *Asked, l *Load) float64 {
	d, concurrency, behind := cmp.Or(l.FlightTime, r.took), l.Concurrency, r.last.Behind-r.first.Behind
	switch {
	case a.ThinkTime: // a think time is no overhead
		return r.Overhead(0, d*time.Duration(concurrency), l.Idle)
	case a.Threads > 0 && concurrency == 0:
		return r.Overhead(0, d*time.Duration(a.Threads), r.Sending())
	}
	return r.Overhead(concurrency, d, behind)
}

// Dropped sets how many requests were due and never sent until the load was over, which is known only after its end.
func (r *Recorder) Dropped(n uint64) { r.last.Dropped = n }

// Live is a level in progress, without what is costly to compute: head has the windows that are over, and readings are what its workers
// have counted until now.
func (r *Recorder) Live(head result.Level, now int64, rate float64, readings []Reading) *result.Level {
	lv := head
	lv.Client = result.Client{Requests: r.Requests(), Failed: r.Failed(), InferPerSec: rate, Latency: r.timeline.Latency()}
	for i := range lv.Windows {
		lv.Client.Requests += lv.Windows[i].Client.Requests
		lv.Client.Failed += lv.Windows[i].Client.Failed
	}
	lv.Timeline = r.timeline.Result(now)
	if look := r.Look(time.Duration(now-r.from), readings); look != nil {
		lv.Workers = look()
	}
	return &lv
}

// Timed tells whether the Recorder has a timeline.
func (r *Recorder) Timed() bool { return r.timeline != nil }
