package stress

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/vitals"
)

// meter makes a level of the run, so that its latencies can be looked at, compared and held to rules like those of
// any other. A request of a train counts by itself, from the send of the train to its own response.
type meter struct {
	mu     sync.Mutex
	tap    func(*record.Record) error
	err    error // of the tap
	from   int64
	before vitals.Reading
	win    *measure.Window
	line   *measure.Timeline
}

func newMeter(tap func(*record.Record) error) *meter {
	setup := measure.Setup{Batch: 1}
	m := &meter{tap: tap, from: clock.Now(), before: vitals.Read(), win: measure.NewWindow(setup)}
	m.line = measure.NewTimeline(setup, m.from)
	return m
}

// add counts one request that ended at the time, well or not.
func (m *meter) add(c *service.Call, s *Step, at int64, class record.Class) {
	rec := record.Record{
		Due: c.Rec.Sent, Sent: c.Rec.Sent, Written: c.Rec.Written, First: at, End: at, SeqID: c.Rec.SeqID, Slot: c.Rec.Slot, Class: class,
	}
	if class == record.OK {
		rec.Responses = 1
	}
	if s.Start {
		rec.Flags |= record.SequenceStart
	}
	if s.End {
		rec.Flags |= record.SequenceEnd
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.win.Add(&rec)
	m.line.Add(&rec)
	if m.tap != nil && m.err == nil {
		m.err = m.tap(&rec)
	}
}

// level is what was measured so far.
func (m *meter) level(threads int) *result.Level {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := clock.Now()
	wall := time.Duration(now - m.from)
	usage := vitals.Read().Since(m.before)
	lv := &result.Level{Mode: plan.Concurrency, Concurrency: threads, Used: 1, Accepted: true, Stable: true}
	lv.Client = m.win.Client(wall)
	lv.Client.SendRate = float64(m.win.Ended()) / wall.Seconds()
	lv.Health = m.win.Health(measure.Load{
		SendRate: lv.Client.SendRate, Wall: wall, Usage: usage, MaxProcs: runtime.GOMAXPROCS(0),
	})
	lv.Histogram, lv.Timeline = m.win.Histogram(), m.line.Result(now)
	lv.Batches = m.line.Batches(m.from, now)
	lv.Windows = []result.Window{{StartUnixNs: clock.Wall(m.from), EndUnixNs: clock.Wall(now), Client: lv.Client}}
	return lv
}

// class is what kind of failure a fault is.
func (f Fault) class(of record.Class) record.Class {
	switch {
	case f == Late:
		return record.Timeout
	case f == Unreadable:
		return record.Protocol
	case of != record.OK:
		return of
	}
	return record.Mismatch
}

// Result is the run as every other command reports one: a single level, whose concurrency is the number of threads.
func (s *Summary) Result() *result.Result {
	res := &result.Result{Schema: result.Schema, Tool: "redline", Interrupted: s.Interrupted, Error: s.Error}
	lv := *s.Level
	for _, f := range slices.Sorted(maps.Keys(s.Tally.Faults)) {
		if n := s.Tally.Faults[f]; n > 0 {
			lv.Failures = append(lv.Failures, result.Failure{Class: string(f), Count: uint64(n), Text: s.first(f)})
		}
	}
	lv.Unfinished = s.Interrupted || s.Error != ""
	lv.Stable, lv.Untested = !lv.Unfinished, true
	res.Levels = []result.Level{lv}
	switch {
	case s.Error != "":
		res.Verdict = result.Verdict{State: result.Failed, Reasons: []result.Reason{{What: s.Error}}}
	case !s.Passed():
		res.Verdict.State = result.Failed
		for _, f := range lv.Failures {
			res.Verdict.Reasons = append(res.Verdict.Reasons, result.Reason{What: f.Class + ": " + f.Text, Try: "run the line after 'replay:' in the output: it sends that sequence again"})
		}
	case s.Interrupted:
		res.Verdict.State = result.Interrupted
	default:
		res.Verdict.State = result.Valid
	}
	return res
}

func (s *Summary) first(of Fault) string {
	for _, f := range s.Failures {
		if f.Fault == of {
			return f.Text
		}
	}
	return ""
}
