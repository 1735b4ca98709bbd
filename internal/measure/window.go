// Package measure turns records into numbers: windows, stability, percentiles, client health and the verdict.
// It is pure: no clock, no goroutine, no I/O. The comment of each function has its formula.
package measure

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/stats"
)

// Setup is what the formulas need to know about the run.
type Setup struct {
	Batch int
	// Open: requests follow a schedule, so the latency from the due time differs from that from the send.
	Open bool
	// FromSend makes the latency from the send time the headline latency in open loop too.
	FromSend bool
	// Percentile is one more percentile to compute; 0 for none.
	Percentile int
	// Streaming: a request may have several responses, so the time to the first one is of interest.
	Streaming bool
	// EndedOnly excludes requests that are in flight at the end from percentiles.
	EndedOnly bool
	// NearestRank computes percentiles as the latency at the nearest rank, without interpolation.
	NearestRank bool
}

// begin returns the time at which the headline latency of a request starts.
func (s *Setup) begin(due, sent int64) int64 {
	if s.Open && !s.FromSend {
		return due
	}
	return sent
}

// Window collects the records of one window.
type Window struct {
	setup Setup
	sent  stats.Sample[int64] // latency from the send
	due   stats.Sample[int64] // latency from the due time, open loop only
	first stats.Sample[int64] // time to the first response, streaming only
	lag   stats.Sample[int64] // send lag, open loop only
	late  stats.Sample[int64] // read lag, if known
	slow  slow

	requests, responses, sequences, delayed, failed uint64
	unanswered                                      uint64 // requests that succeeded without a response
	resent                                          uint64 // requests that were sent again

	callNs, sendNs, recvNs int64
	flightNs               int64  // time in flight within the window, of all requests, failed ones too
	lateNs                 int64  // time between due time and send within the window, closed loop only
	in, out                uint64 // bytes
	firstSent, lastEnd     int64
	span                   span
	from, until            int64 // edges; 0 until they are known
	unfinished             []Pending
}

// NewWindow makes an empty window.
func NewWindow(setup Setup) *Window { return &Window{setup: setup} }

// Forget drops the latencies of a window that will not be merged. Its counts stay.
func (w *Window) Forget() {
	for _, s := range []*stats.Sample[int64]{&w.sent, &w.due, &w.first, &w.lag, &w.late} {
		*s = stats.Sample[int64]{}
	}
	w.slow = slow{}
}

// Begin sets the start of the window. Time in flight before it belongs to the previous window.
func (w *Window) Begin(from int64) { w.from = from }

// Add takes one record in.
func (w *Window) Add(r *record.Record) {
	if r.Flags&record.Closing != 0 {
		return
	}
	w.flightNs += max(0, r.End-max(r.Sent, w.from))
	if r.Sent >= w.from {
		w.span.send(r.Due, r.Sent)
	}
	if !w.setup.Open {
		w.lateNs += max(0, r.Sent-max(r.Due, w.from))
	}
	if r.Class == record.Canceled {
		return
	}
	w.span.add(r)
	if r.Flags&record.Resent != 0 {
		w.resent++
	}
	if r.Class != record.OK {
		w.failed++
		return
	}
	w.requests++
	if r.Responses == 0 { // only an empty final response: a decoupled model may send no outputs
		w.unanswered++
	}
	w.responses += uint64(r.Responses)
	if r.Flags&record.SequenceEnd != 0 {
		w.sequences++
	}
	if r.Flags&record.Delayed != 0 {
		w.delayed++
	}
	w.sent.Add(r.End - r.Sent)
	w.slow.add(r)
	if w.setup.Open {
		w.due.Add(r.End - r.Due)
		w.lag.Add(max(0, r.Sent-r.Due))
	}
	if w.setup.Streaming && r.Responses > 0 {
		w.first.Add(r.First - w.setup.begin(r.Due, r.Sent))
	}
	if r.Late > 0 {
		w.late.Add(r.Late)
	}
	w.callNs += r.End - r.Sent
	w.sendNs += min(r.Written, r.First) - r.Sent // on a busy machine the response may be read before the sender has taken Written
	w.recvNs += r.End - r.First
	w.in += r.In
	w.out += r.Out
	if w.firstSent == 0 || r.Sent < w.firstSent {
		w.firstSent = r.Sent
	}
	w.lastEnd = max(w.lastEnd, r.End)
}

// Requests is the number of requests counted so far.
func (w *Window) Requests() uint64 { return w.requests }

// Failed is the number of failed requests so far.
func (w *Window) Failed() uint64 { return w.failed }

// Ended is the number of requests that succeeded or failed.
func (w *Window) Ended() uint64 { return w.requests + w.failed }

// Median is the median latency of the latest requests, for the progress line.
func (w *Window) Median() time.Duration {
	if w.setup.Open && !w.setup.FromSend {
		return time.Duration(w.due.RecentMedian(1000))
	}
	return time.Duration(w.sent.RecentMedian(1000))
}

// Span is the time from the first send to the last end.
func (w *Window) Span() (from, to int64) { return w.firstSent, w.lastEnd }

// Merge takes all of o in.
func (w *Window) Merge(o *Window) {
	w.sent.Merge(&o.sent)
	w.due.Merge(&o.due)
	w.first.Merge(&o.first)
	w.lag.Merge(&o.lag)
	w.late.Merge(&o.late)
	w.slow.merge(o.slow)
	w.requests += o.requests
	w.responses += o.responses
	w.sequences += o.sequences
	w.delayed += o.delayed
	w.failed += o.failed
	w.unanswered += o.unanswered
	w.resent += o.resent
	w.callNs += o.callNs
	w.sendNs += o.sendNs
	w.recvNs += o.recvNs
	w.flightNs += o.flightNs
	w.span.merge(&o.span)
	w.lateNs += o.lateNs
	w.in += o.in
	w.out += o.out
	if o.requests > 0 && (w.firstSent == 0 || o.firstSent < w.firstSent) {
		w.firstSent = o.firstSent
	}
	w.lastEnd = max(w.lastEnd, o.lastEnd)
	w.unfinished, w.until = o.unfinished, o.until // requests in flight at the end of an earlier window have ended since, or are in o.unfinished
}
