// Package telemetry counts the requests of a run for other tools while the run goes on: OpenTelemetry collectors and Prometheus.
//
// The engine's collector hands every record that has ended to a Tally, off the path of the requests. The exporters below this
// folder read the tally once a second or so. They never wait for each other or for the load: a slow receiver gets fewer points, and
// because counts are totals since the start of a level, the next point contains what a lost one would have said.
package telemetry

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Tally counts the requests of a run by level. It is safe for concurrent use.
type Tally struct {
	mu      sync.Mutex
	levels  []*Level
	current map[string]current // of each traffic class
	last    current            // of all classes
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
	// InFlight and what was asked for are 0 when the level is over.
	InFlight                 int
	AskedInFlight, AskedRate float64

	scheduled bool // its requests have a due time
}

// end makes the values of the moment those of a level that is over.
func (l *Level) end() { l.InFlight, l.AskedInFlight, l.AskedRate = 0, 0, 0 }

// NewTally makes an empty tally.
func NewTally() *Tally {
	return &Tally{current: map[string]current{}}
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
	if l.scheduled {
		l.Lag.add(r.Sent - r.Due)
	}
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
	if t.last.of == lv {
		return t.last.level
	}
	now := t.current[lv.Class]
	if now.of == lv {
		t.last = now
		return now.level
	}
	name, before := measure.LoadName(lv), now.level
	now = current{of: lv}
	for _, l := range t.levels {
		if l.Class == lv.Class && l.Name == name { // measured again, as with several runs of a level
			now.level = l
		}
	}
	if now.level == nil {
		now.level = &Level{Class: lv.Class, Name: name, Start: time.Now()}
		t.levels = append(t.levels, now.level)
	}
	if before != nil && before != now.level {
		before.end()
	}
	now.level.AskedInFlight, now.level.AskedRate, now.level.scheduled = float64(lv.Concurrency), lv.Rate, lv.Mode.Scheduled()
	t.current[lv.Class], t.last = now, now
	return now.level
}

// End ends all levels: the load is over, and nothing is in flight.
func (t *Tally) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.levels {
		l.end()
	}
}
