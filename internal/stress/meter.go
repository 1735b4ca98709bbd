package stress

import (
	"maps"
	"runtime"
	"slices"
	"sync"

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
	mu  sync.Mutex
	tap func(*record.Record) error
	err error // of the tap
	rec *measure.Recorder
}

func newMeter(tap func(*record.Record) error) *meter {
	m := &meter{tap: tap, rec: measure.New(measure.Config{Setup: measure.Setup{Batch: 1}, Timeline: true})}
	s := measure.State{At: clock.Now(), Vitals: vitals.Read()}
	m.rec.Begin(s.At, &s)
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
	m.rec.Add(&rec)
	if m.tap != nil && m.err == nil {
		m.err = m.tap(&rec)
	}
}

// level is what was measured so far.
func (m *meter) level(threads int) *result.Level {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := measure.State{At: clock.Now(), Vitals: vitals.Read()}
	head := result.Level{Mode: plan.Concurrency, Concurrency: threads, Accepted: true, Stable: true}
	lv, _ := m.rec.Until(s.At, &s, nil).Level(head, &measure.Asked{MaxProcs: runtime.GOMAXPROCS(0)})
	lv.ClientLimited = false // a run of stress is judged by its responses
	return &lv
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
