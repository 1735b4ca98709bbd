package text

import (
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// client writes the client's view of a level.
func (c *Console) client(p *page, s *result.Client) {
	p.linef("    Request count: %d", s.Requests)
	if pct := delayedPercent(s); pct > 1 && c.Plan.Policies.BareReport { // redline profile has the client health and the verdict
		p.linef("    Avg send request rate: %.2f infer/sec", s.SendRate)
		p.linef("    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. %.2f%% of the requests were delayed. ", pct)
	}
	if c.Model != nil && c.Model.Sequential() {
		p.linef("    Sequence count: %d (%s seq/sec)", s.Sequences, rate(s.SequencePerSec))
	}
	p.linef("    Throughput: %s infer/sec", rate(s.InferPerSec))
	if decoupled(c.Model) {
		p.linef("    Response Throughput: %s infer/sec", rate(s.ResponsePerSec))
	}
	if c.Plan.Verbose > 0 {
		p.linef("    Avg client overhead: %.2f%%", s.OverheadPercent)
	}
	if c.Plan.Measure.Percentile == 0 {
		p.linef("    Avg latency: %d usec (standard deviation %d usec)", us(s.Latency.Avg), us(s.Latency.Std))
	}
	for _, n := range percentiles(c.Plan) {
		if !result.Enough(float64(n), s.Requests) && !c.Plan.Policies.BareReport {
			p.linef("    p%d latency: %s", n, c.tooFew(n, s.Requests))
			continue
		}
		q, bound := s.Latency.Point(float64(n)), ""
		if q.AtLeast {
			bound = "at least "
		}
		p.linef("    p%d latency: %s%d usec", n, bound, us(q.V))
	}
	p.linef("    %s", c.library(s))
}

// tooFew stands in the place of a percentile with too few requests behind it; a verbose report says why.
func (c *Console) tooFew(p int, n uint64) string {
	if c.Plan.Verbose == 0 {
		return "–"
	}
	return fmt.Sprintf("– (needs %d requests, there are %d)", result.Fewest(float64(p)), n)
}

// library is the line on the parts of a call. It is empty where perf_analyzer has no such counters: in process, and for decoupled
// models.
func (c *Console) library(s *result.Client) string {
	t := &c.Plan.Target
	if decoupled(c.Model) || kind.Of(t.Kind).InProcess() {
		return ""
	}
	parts := callParts(s)
	name, send, both, recv := "HTTP", "send", "send/recv", "receive"
	if t.Protocol == plan.GRPC {
		name, send, both, recv = "gRPC", "marshal", "(un)marshal request/response", "unmarshal"
	}
	if c.Plan.Verbose > 0 {
		return fmt.Sprintf("Avg %s time: %d usec (%s %d usec + response wait %d usec + %s %d usec)",
			name, parts.call, send, parts.send, parts.wait, recv, parts.recv)
	}
	return fmt.Sprintf("Avg %s time: %d usec (%s %d usec + response wait %d usec)",
		name, parts.call, both, parts.send+parts.recv, parts.wait)
}

// parts are the parts of an average call in microseconds: call = send + wait + recv, each truncated before the difference is
// computed.
type parts struct{ call, send, wait, recv uint64 }

func callParts(s *result.Client) parts {
	p := parts{call: us(s.CallNs), send: us(s.SendNs), recv: us(s.RecvNs)}
	p.wait = less(p.call, p.send+p.recv)
	return p
}

func delayedPercent(s *result.Client) float64 {
	if s.Requests == 0 {
		return 0
	}
	return float64(s.Delayed) / float64(s.Requests) * 100
}

// percentiles are those that every report shows, with the requested one inserted in order.
func percentiles(p *plan.Plan) []int {
	list := []int{50, 90, 95, 99}
	if n := p.Measure.Percentile; n > 0 && !slices.Contains(list, n) {
		list = append(list, n)
		slices.Sort(list)
	}
	return list
}
