// Package telemetry counts the requests of a run for other tools while the run goes on: OpenTelemetry collectors and Prometheus.
//
// The engine's collector hands every record that has ended to a Tally, off the path of the requests. The exporters below this
// folder read the tally once a second or so. They never wait for each other or for the load: a slow receiver gets fewer points, and
// because counts are totals since the start of a level, the next point contains what a lost one would have said.
package telemetry

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
)

// Tally counts the requests of a run by level. It is safe for concurrent use.
type Tally struct {
	mu      sync.Mutex
	levels  []*Level
	current map[string]current // of each traffic class
	read    vitals.Reading
	readAt  int64
	usage   Usage
}

// current is the level of a traffic class that was counted last.
type current struct {
	of    *result.Level
	level *Level
}

// Level is the requests of one level since its start.
type Level struct {
	Class string // the traffic class of a scenario; empty in other runs
	Name  string // of the level, without the class
	Start time.Time
	// Outcomes counts requests that have ended, by class.
	Outcomes [record.NumClasses]uint64
	// Latency is the headline latency, First the time to the first response or token, Gap the time per output token after the
	// first, Lag the send lag.
	Latency, First, Gap, Lag Histogram
	InputTokens, Tokens      uint64
	InFlight                 int
	AskedInFlight, AskedRate float64
}

// Usage is the health of the client since the reading before.
type Usage struct {
	CPUCores            float64
	GCPause, SchedDelay time.Duration // the longest
}

// NewTally makes an empty tally.
func NewTally() *Tally {
	return &Tally{current: map[string]current{}, read: vitals.Read(), readAt: clock.Now()}
}

// Add counts a request that has ended. fromDue: latency starts at the due time.
func (t *Tally) Add(lv *result.Level, fromDue bool, r *record.Record) {
	if r.Flags&record.Closing != 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.level(lv)
	l.Outcomes[r.Class]++
	if r.Class != record.OK {
		return
	}
	from := r.Sent
	if fromDue {
		from = r.Due
	}
	l.Latency.add(r.End - from)
	if r.First > from && r.Responses > 1 {
		l.First.add(r.First - from)
	}
	if scheduled(lv.Mode) {
		l.Lag.add(r.Sent - r.Due)
	}
}

// scheduled reports whether requests have due times.
func scheduled(m plan.Mode) bool {
	return m == plan.RequestRate || m == plan.CustomIntervals || m == plan.FixedSchedule
}

// Tokens counts the tokens of a response of a language model that was streamed from first to last.
func (t *Tally) Tokens(lv *result.Level, input, output int, first, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.level(lv)
	l.InputTokens += uint64(max(0, input))
	l.Tokens += uint64(max(0, output))
	if output > 1 && last > first {
		l.Gap.add((last - first) / int64(output-1))
	}
}

// InFlight notes how many requests of a level are in flight.
func (t *Tally) InFlight(lv *result.Level, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.level(lv).InFlight = n
}

// level is the count of a level. The caller holds the lock.
func (t *Tally) level(lv *result.Level) *Level {
	now := t.current[lv.Class]
	if now.of == lv {
		return now.level
	}
	bare := *lv
	bare.Class = ""
	name, before := measure.LevelName(&bare), now.level
	now = current{of: lv}
	for _, l := range t.levels {
		if l.Class == lv.Class && l.Name == name { // measured again, as with several runs of a level
			now.level = l
		}
	}
	if now.level == nil {
		now.level = &Level{Class: lv.Class, Name: name, Start: time.Now(), AskedInFlight: float64(lv.Concurrency), AskedRate: lv.Rate}
		t.levels = append(t.levels, now.level)
	}
	if before != nil && before != now.level {
		before.InFlight = 0
	}
	t.current[lv.Class] = now
	return now.level
}

// Read shows every level and the client's health since the last Read. fn must not keep the levels.
func (t *Tally) Read(fn func(levels []*Level, usage Usage)) {
	now, at := vitals.Read(), clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := time.Duration(at - t.readAt); d > 0 {
		u := now.Since(t.read)
		t.usage = Usage{CPUCores: u.CPU.Seconds() / d.Seconds(), GCPause: u.GCPause, SchedDelay: u.SchedDelay}
		t.read, t.readAt = now, at
	}
	fn(t.levels, t.usage)
}
