package main

import "context"

// work is one kind of traffic, with the peer that sets the bar.
type work struct {
	name     string
	protocol string // http, grpc, or stream for one bidirectional gRPC stream
	elements int    // of the FP32 tensor that goes there and back
	inFlight int
	peer     string
	bar      float64 // our CPU per request may be this many times the peer's
	requests int
}

const (
	small = 16      // 64 bytes
	large = 1 << 18 // 1 MiB
)

var works = []work{
	{"HTTP infer, 64-byte tensor", "http", small, 8, "wrk", 1.25, 100_000},
	{"HTTP infer, 64-byte tensor", "http", small, 64, "wrk", 1.25, 100_000},
	{"gRPC unary infer, 64-byte tensor", "grpc", small, 8, "h2load", 1.0, 150_000},
	{"gRPC unary infer, 64-byte tensor", "grpc", small, 64, "h2load", 1.0, 150_000},
	{"gRPC stream infer, 64-byte tensor", "stream", small, 8, "perf_analyzer", 0.125, 150_000},
	{"gRPC stream infer, 64-byte tensor", "stream", small, 64, "perf_analyzer", 0.125, 150_000},
	{"HTTP infer, 1 MiB tensor", "http", large, 8, "wrk", 1.25, 600},
	{"gRPC unary infer, 1 MiB tensor", "grpc", large, 8, "h2load", 1.25, 600},
}

// cpuRows compares the CPU time of the client's process tree per request that got a response: one canned server on
// one core, the client on another.
func cpuRows(ctx context.Context, e *env) error {
	srv, err := e.null()
	if err != nil {
		return err
	}
	defer srv.Stop()
	tools := e.tools()
	for _, w := range works {
		w.requests = e.requests(w.requests)
		payload, err := writePayload(e.dir, w.elements)
		if err != nil {
			return err
		}
		samples := map[string][]sample{}
		for round := range e.rounds + 1 {
			for _, tool := range tools {
				if !tool.does(w.protocol) || round > 0 && tool.slow && tool.name != w.peer {
					continue
				}
				s, err := tool.run(ctx, w, srv, payload)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					e.report.note("%s, %s, %d in flight: %v", tool.name, w.name, w.inFlight, err)
					continue
				}
				samples[tool.name] = append(samples[tool.name], s)
			}
		}
		e.progress("%s, %d in flight", w.name, w.inFlight)
		e.report.addCPU(w, samples)
	}
	return nil
}

// addCPU turns the samples of one piece of work into rows: ours first, with the verdict.
func (r *report) addCPU(w work, samples map[string][]sample) {
	for _, name := range []string{"redline", "wrk", "h2load", "perf_analyzer"} {
		s := samples[name]
		if len(s) == 0 {
			continue
		}
		best := cheapest(s)
		line := row{Work: w.name, InFlight: w.inFlight, Tool: name, Figure: best.micros(), Unit: "µs CPU", PerSecond: best.perSecond()}
		if name == "redline" {
			b := atMost(w.bar, "× "+w.peer)
			if peer := samples[w.peer]; len(peer) > 0 {
				line.judge(b, line.Figure/cheapest(peer).micros())
			} else {
				line.unmeasured(b)
			}
		}
		r.add(line)
	}
}
