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
	requests int     // 0: three windows of a second
	tls      bool
	cores    coreSets // zero: one core for the client, one for the server
}

const (
	small = 16      // 64 bytes
	large = 1 << 18 // 1 MiB
)

var works = []work{
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 8, peer: "wrk", bar: 1.25, requests: 100_000},
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 64, peer: "wrk", bar: 1.25, requests: 100_000},
	{name: "HTTPS infer, 64-byte tensor", protocol: "http", tls: true, elements: small, inFlight: 8, peer: "wrk", bar: 1.0, requests: 240_000},
	{name: "gRPC unary infer, 64-byte tensor", protocol: "grpc", elements: small, inFlight: 8, peer: "h2load", bar: 1.0, requests: 150_000},
	{name: "gRPC unary infer, 64-byte tensor", protocol: "grpc", elements: small, inFlight: 64, peer: "h2load", bar: 1.0, requests: 150_000},
	{name: "gRPC stream infer, 64-byte tensor", protocol: "stream", elements: small, inFlight: 8, peer: "perf_analyzer", bar: 0.125, requests: 150_000},
	{name: "gRPC stream infer, 64-byte tensor", protocol: "stream", elements: small, inFlight: 64, peer: "perf_analyzer", bar: 0.125, requests: 150_000},
	{name: "HTTP infer, 1 MiB tensor", protocol: "http", elements: large, inFlight: 8, peer: "wrk", bar: 1.0, requests: 6000},
	{name: "gRPC unary infer, 1 MiB tensor", protocol: "grpc", elements: large, inFlight: 8, peer: "h2load", bar: 1.25, requests: 600},
}

// cpuRows compares the CPU time of the client's process tree per request that got a response: one null server on one core, the
// client on another.
func cpuRows(ctx context.Context, e *env) error {
	for _, w := range works {
		samples, err := e.compare(ctx, w)
		if err != nil {
			return err
		}
		e.report.addCPU(w, samples)
	}
	return nil
}

// compare runs the tools that speak the protocol of w in turns and returns their samples by name.
func (e *env) compare(ctx context.Context, w work) (map[string][]sample, error) {
	return e.compareTools(ctx, w, e.tools())
}

func (e *env) compareTools(ctx context.Context, w work, tools []tool) (map[string][]sample, error) {
	w.requests = e.requests(w.requests)
	srv, err := e.nullOn(w.cores.server(), w.tls)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	payload, err := writePayload(e.dir, w.elements)
	if err != nil {
		return nil, err
	}
	samples := map[string][]sample{}
	broken := false // a run of ours or of the peer failed: another one may take minutes to fail
	for turn := 0; !broken && (turn < leastTurns || turn < mostTurns && !w.decided(samples)); turn++ {
		for _, tool := range tools {
			if !tool.does(w.protocol) || w.tls && tool.name == "perf_analyzer" || turn > 0 && tool.name != "redline" && tool.name != w.peer {
				continue
			}
			s, err := tool.run(ctx, w, srv, payload)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				e.report.note("%s, %s, %d in flight: %v", tool.name, w.name, w.inFlight, err)
				broken = broken || tool.name == "redline" || tool.name == w.peer
				continue
			}
			samples[tool.name] = append(samples[tool.name], s)
		}
	}
	e.progress("%s, %d in flight", w.name, w.inFlight)
	return samples, nil
}

func (w work) limit() bar { return atMost(w.bar, "× "+w.peer) }

// decided tells whether the samples say that the bar is reached or missed; without a peer there is nothing to decide.
func (w work) decided(samples map[string][]sample) bool {
	peer := samples[w.peer]
	return len(peer) == 0 || ratioOf(micros(samples["redline"]), micros(peer)).decided(w.limit())
}

// addCPU turns the samples of one piece of work into rows: ours first, with the verdict.
func (r *report) addCPU(w work, samples map[string][]sample) {
	for _, name := range []string{"redline", "wrk", "h2load", "perf_analyzer"} {
		s := samples[name]
		if len(s) == 0 {
			continue
		}
		line := row{Work: w.name, InFlight: w.inFlight, Tool: name, Figure: median(micros(s)), Unit: "µs CPU", PerSecond: median(rates(s))}
		if name == "redline" {
			if peer := samples[w.peer]; len(peer) > 0 {
				line.compare(w.limit(), micros(s), micros(peer))
			} else {
				line.unmeasured(w.limit())
			}
		}
		r.add(line)
	}
}
