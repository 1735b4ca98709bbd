package measure

import (
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Part is what one worker of a fleet did in a window. There may be a thousand workers, so a part keeps no single latency: its
// percentiles are within stats.MaxError.
type Part struct {
	setup            Setup
	from             int64
	requests, failed uint64
	sent             uint64 // in the window, ended or not
	flightNs         int64
	latency, lag     stats.Buckets[uint32]
	slowest, lagMax  int64
}

// NewPart makes the empty part of a window that begins at from.
func NewPart(setup Setup, from int64) *Part { return &Part{setup: setup, from: from} }

// From is when the window began.
func (p *Part) From() int64 { return p.from }

// Add takes one record in.
func (p *Part) Add(r *record.Record) {
	if r.Flags&record.Closing != 0 {
		return
	}
	p.flightNs += max(0, r.End-max(r.Sent, p.from))
	p.countSent(r.Sent)
	switch r.Class {
	case record.OK:
	case record.Canceled:
		return
	default:
		p.failed++
		return
	}
	p.requests++
	latency := r.End - p.setup.begin(r.Due, r.Sent)
	p.latency.Add(float64(latency), 1)
	p.slowest = max(p.slowest, latency)
	if p.setup.Open {
		p.lag.Add(float64(r.Sent-r.Due), 1)
		p.lagMax = max(p.lagMax, r.Sent-r.Due)
	}
}

// Pending adds a request of the part that is in flight at the end of the window.
func (p *Part) Pending(sent, until int64) {
	p.flightNs += max(0, until-max(sent, p.from))
	p.countSent(sent)
}

func (p *Part) countSent(sent int64) {
	if sent >= p.from {
		p.sent++
	}
}

// Sent is the number of requests that were sent in the window.
func (p *Part) Sent() uint64 { return p.sent }

// Merge takes all of o in.
func (p *Part) Merge(o *Part) {
	p.requests += o.requests
	p.failed += o.failed
	p.sent += o.sent
	p.flightNs += o.flightNs
	p.slowest, p.lagMax = max(p.slowest, o.slowest), max(p.lagMax, o.lagMax)
	stats.MergeBuckets(&p.latency, &o.latency)
	stats.MergeBuckets(&p.lag, &o.lag)
}

// Worker computes the figures of the part, and the reasons why its worker limited the load.
func (p *Part) Worker(name string, l Load) (result.Worker, []result.Reason) {
	w := p.Figures(name, l)
	lv := result.Level{Health: w.Health, Client: result.Client{Requests: p.requests, Sent: result.Metric{Quantiles: []result.Quantile{{P: 50, V: float64(w.P50Ns)}}}}}
	reasons := Judge(&lv, l)
	w.ClientLimited = lv.ClientLimited
	return w, reasons
}

// Figures computes the figures of the part, also of one that goes on, without a judgment.
func (p *Part) Figures(name string, l Load) result.Worker {
	latency, lag := p.latency.Quantiles(float64(p.slowest), 50, 99), p.lag.Quantiles(float64(p.lagMax), 50, 99)
	w := result.Worker{
		Name: name, Requests: p.requests, Failed: p.failed, InferPerSec: perSecond(p.requests*uint64(max(1, p.setup.Batch)), l.Wall),
		P50Ns: int64(latency[0]), P99Ns: int64(latency[1]),
		Health: l.health(p.flightNs, p.requests+p.failed),
	}
	w.Health.LagP50Ns, w.Health.LagP99Ns, w.Health.LagMaxNs = int64(lag[0]), int64(lag[1]), p.lagMax
	return w
}
