package main

import (
	"context"
	"fmt"
	"runtime"
)

// coreSets says on how many cores the client runs. The server has as many, the next ones. 0 is one core each.
type coreSets int

func (c coreSets) threads() int { return max(1, int(c)) }

func (c coreSets) client() string {
	if c <= 1 {
		return clientCore
	}
	return fmt.Sprintf("0-%d", c-1)
}

func (c coreSets) server() string {
	if c <= 1 {
		return serverCore
	}
	n := runtime.NumCPU()
	return fmt.Sprintf("%d-%d", n/2, n-1)
}

// coreWorks need many cores: a client of four or eight cores, and a server on half of the machine.
var coreWorks = []work{
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 64, peer: "wrk", requests: 2_000_000, cores: 8},
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 256, peer: "wrk", requests: 2_000_000, cores: 8},
	{name: "HTTPS infer, 64-byte tensor", protocol: "http", tls: true, elements: small, inFlight: 64, peer: "wrk", requests: 1_000_000, cores: 4},
}

// coreRows compares throughput and CPU time per request of clients on several cores.
func coreRows(ctx context.Context, e *env) error {
	const least = 8
	if n := runtime.NumCPU(); n < least {
		e.report.note("many cores: NOT MEASURED: it needs %d cores, this machine has %d", least, n)
		return nil
	}
	for _, w := range coreWorks {
		w.cores = min(w.cores, coreSets(runtime.NumCPU()/2))
		samples, err := e.compare(ctx, w)
		if err != nil {
			return err
		}
		w.name = fmt.Sprintf("%s, %d cores", w.name, w.cores)
		e.report.addCores(w, samples)
	}
	return nil
}

// addCores adds the rows of one piece of work: CPU time and throughput, each compared with the peer.
func (r *report) addCores(w work, samples map[string][]sample) {
	w.bar = 1
	r.addCPU(w, samples)
	ours, peer := samples["redline"], samples[w.peer]
	if len(ours) == 0 {
		return
	}
	line := row{Work: w.name + ": throughput", InFlight: w.inFlight, Tool: "redline", Figure: fastest(ours).perSecond(), Unit: "requests/s"}
	b := atLeast(1, "× "+w.peer)
	if len(peer) > 0 {
		line.judge(b, line.Figure/fastest(peer).perSecond())
	} else {
		line.unmeasured(b)
	}
	r.add(line)
}
