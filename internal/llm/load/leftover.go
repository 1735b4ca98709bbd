package load

import (
	"context"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
)

// Collect counts what workers of a fleet have told of a level whose coordinator ended in the middle of it. leftover passes the records on, with
// what came with each; it is called twice. The outcome is nil if there are none.
func Collect(cfg Config, lv Level, leftover func(each func(rec *record.Record, data []byte)) error) (*Outcome, error) {
	var from, until int64
	n := 0
	err := leftover(func(rec *record.Record, _ []byte) {
		if n++; n == 1 {
			from, until = rec.Sent, rec.End
		}
		from, until = min(from, rec.Sent), max(until, rec.End)
	})
	if err != nil || n == 0 {
		return nil, err
	}
	// Requests before the start of this process have times below 0. They are counted as if they had come later.
	later := max(0, 1-from)
	if tap := cfg.Tap; tap != nil {
		cfg.Tap = func(rec *record.Record) error { return tap(moved(rec, -later)) }
	}
	r := &levelRun{pulse: vitals.StartPulse()}
	defer r.pulse.Stop()
	r.choose(&cfg, lv)
	p := newPhase(&cfg.Options, lv, false)
	r.ready(context.Background(), p)
	defer p.cancel()
	p.start, p.ended = from+later, until+later
	p.counted = p.lastCounted(0)
	r.begin(p, p.start)
	if err := leftover(func(rec *record.Record, data []byte) { r.receive(moved(rec, later), nil, data) }); err != nil {
		return nil, err
	}
	if err := p.failure.Load(); err != nil {
		return nil, *err
	}
	if r.stop.text == "" {
		r.stop.text = "the coordinator ended during this level"
	}
	out := r.outcome(nil)
	out.Interrupted = true
	// How the workers did is not known.
	out.Level.Health, out.Level.ClientLimited, out.Reasons = result.Health{}, false, nil
	tellWhen(&out.Level, later)
	return out, nil
}

// moved is a record with later times. A First of 0 means that nothing came.
func moved(r *record.Record, later int64) *record.Record {
	m := *r
	for _, at := range []*int64{&m.Due, &m.Sent, &m.Written, &m.End} {
		*at += later
	}
	if m.First != 0 {
		m.First += later
	}
	return &m
}

// tellWhen corrects the times of day of a level whose requests were counted as if they had come later.
func tellWhen(lv *result.Level, later int64) {
	for i := range lv.Windows {
		lv.Windows[i].StartUnixNs -= later
		lv.Windows[i].EndUnixNs -= later
	}
	if lv.Timeline != nil {
		lv.Timeline.StartUnixNs -= later
	}
	for i, m := range lv.Metrics {
		if m.Tag == "min_request_timestamp" || m.Tag == "max_response_timestamp" {
			lv.Metrics[i].Avg -= float64(later)
		}
	}
}
