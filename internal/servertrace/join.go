package servertrace

import (
	"fmt"
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/result"
)

// mostShown limits the requests of a level in the result.
const mostShown = 10

// slack is how far a time of the server may lie outside the request, with clocks of one machine.
const slack = 1e6

// Join matches the requests of a level with the traces of the server and returns the slowest ones, with their spans. mono is what must
// be added to the monotonic clock of this machine to get Unix time.
func Join(s *Slowest, traces []*Trace, mono int64) *result.ServerTraces {
	roots, steps := map[string][]*Trace{}, map[uint64][]*Trace{}
	for _, t := range traces {
		if t.Parent != 0 {
			steps[t.Parent] = append(steps[t.Parent], t)
		} else if t.Request != "" && len(t.Times) > 0 {
			roots[t.Request] = append(roots[t.Request], t)
		}
	}
	all := s.requests()
	pairs, offset, how := align(all, roots, mono)
	out := &result.ServerTraces{Matched: len(pairs), Clock: how}
	if how == "" {
		out.Note = "the server's file has no trace of this level's requests: check the trace level and rate of the server, and that the file is this server's"
		if len(roots) > 0 {
			out.Note = fmt.Sprintf("none of the %d traces in the server's file belongs to a request of this level", len(traces))
		}
		return out
	}
	for _, p := range pairs[:min(mostShown, len(pairs))] {
		out.Slowest = append(out.Slowest, waterfall(p, steps, offset))
	}
	return out
}

// pair is a request with its trace.
type pair struct {
	request *Request
	trace   *Trace
}

// align finds the clock of the server: Unix time, the monotonic clock of this machine, or one whose difference the requests tell. how
// names it, and is empty if none fits. pairs are in the order of the requests.
func align(all []Request, roots map[string][]*Trace, mono int64) (pairs []pair, offset int64, how string) {
	for _, c := range []struct {
		offset int64
		name   string
	}{{0, "Unix time"}, {mono, "the monotonic clock of this machine"}} {
		if pairs := within(all, roots, c.offset); len(pairs) > 0 {
			return pairs, c.offset, c.name
		}
	}
	// A clock of another machine: no request can reach the server before it was sent, and none can be answered before the server answers.
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for i := range all {
		list := roots[strconv.FormatUint(all[i].ID, 10)]
		if len(list) == 0 {
			continue
		}
		t := list[len(list)-1] // of an earlier run with the same ids, the file has older ones
		from, to := t.bounds()
		low, high = max(low, all[i].Sent-from), min(high, all[i].End-to)
		pairs = append(pairs, pair{&all[i], t})
	}
	if len(pairs) == 0 || low > high {
		return nil, 0, ""
	}
	return pairs, low + (high-low)/2, fmt.Sprintf("a clock of another machine; by the requests, the difference is known to ± %d µs", (high-low)/2000)
}

// within pairs requests with traces that lie within them.
func within(all []Request, roots map[string][]*Trace, offset int64) []pair {
	var out []pair
	for i := range all {
		q := &all[i]
		for _, t := range roots[strconv.FormatUint(q.ID, 10)] {
			if from, to := t.bounds(); from+offset >= q.Sent-slack && to+offset <= q.End+slack {
				out = append(out, pair{q, t})
				break
			}
		}
	}
	return out
}

// bounds are the first and the last time that surely lie between the client's send and its end. Triton waits for a gRPC request before it
// is sent, and notes some ends after the client has the response.
func (t *Trace) bounds() (from, to int64) {
	from, to = math.MaxInt64, math.MinInt64
	for name, ns := range t.Times {
		switch name {
		case "GRPC_WAITREAD_START", "HTTP_SEND_END", "GRPC_SEND_END", "REQUEST_END", "COMPUTE_END":
			continue
		}
		from, to = min(from, ns), max(to, ns)
	}
	return from, to
}

// phases are the spans of a trace: a name, and the timestamps that begin and end it.
var phases = []struct{ name, from, to string }{
	{"receive", "HTTP_RECV_START", "HTTP_RECV_END"},
	{"queue", "QUEUE_START", "COMPUTE_START"},
	{"compute input", "COMPUTE_START", "COMPUTE_INPUT_END"},
	{"compute", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START"},
	{"compute output", "COMPUTE_OUTPUT_START", "COMPUTE_END"},
	{"send", "HTTP_SEND_START", "HTTP_SEND_END"},
	{"send", "GRPC_SEND_START", "GRPC_SEND_END"},
}

// waterfall makes the spans of a request, from its due time on.
func waterfall(p pair, steps map[uint64][]*Trace, offset int64) result.RequestTrace {
	q := p.request
	start := min(q.Due, q.Sent)
	out := result.RequestTrace{RequestID: strconv.FormatUint(q.ID, 10), Model: p.trace.Model, StartUnixNs: start, LatencyNs: q.latency()}
	client := func(name string, from, to int64) {
		if from > 0 && to-from >= 1000 { // less is no part of a latency
			out.Spans = append(out.Spans, result.Span{Name: name, StartNs: from - start, EndNs: to - start})
		}
	}
	client(result.SpanWaits, start, q.Sent)
	client("request", q.Sent, q.End)
	client("first byte to end", q.First, q.End)
	var add func(t *Trace, depth int)
	add = func(t *Trace, depth int) {
		server := func(name string, from, to int64, depth int) {
			out.Spans = append(out.Spans, result.Span{Name: name, Model: t.Model, Server: true, Depth: depth, StartNs: from + offset - start, EndNs: to + offset - start})
		}
		if from, to, ok := t.span("REQUEST_START", "REQUEST_END"); ok {
			server("in the model", from, to, depth)
		}
		for _, ph := range phases {
			if from, to, ok := t.span(ph.from, ph.to); ok {
				server(ph.name, from, to, depth+1)
			}
		}
		for _, s := range steps[t.ID] {
			add(s, depth+1)
		}
	}
	add(p.trace, 0)
	return out
}

func (t *Trace) span(from, to string) (int64, int64, bool) {
	a, ok := t.Times[from]
	b, also := t.Times[to]
	return a, b, ok && also && b >= a
}
