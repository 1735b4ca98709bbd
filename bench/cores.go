package main

import (
	"context"
	"fmt"
	"runtime"
)

// coreSets is the number of cores of the client. A client of several cores meets a server on the upper half of the machine; 0 and 1
// are one core for each.
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

// manyCores tells whether the machine has enough cores for a group; if not, it notes that the group was not measured.
func (e *env) manyCores(group string) bool {
	const least = 8
	n := runtime.NumCPU()
	if n < least {
		e.report.note("%s: NOT MEASURED: it needs %d cores, this machine has %d", group, least, n)
	}
	return n >= least
}

// coreWorks need many cores: a client of four or eight cores, and a server on half of the machine.
var coreWorks = []work{
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 64, peer: "wrk", bar: 1, requests: 2_000_000, cores: 8},
	{name: "HTTP infer, 64-byte tensor", protocol: "http", elements: small, inFlight: 256, peer: "wrk", bar: 1, requests: 2_000_000, cores: 8},
	{name: "HTTPS infer, 64-byte tensor", protocol: "http", tls: true, elements: small, inFlight: 64, peer: "wrk", bar: 1, requests: 1_000_000, cores: 4},
}

// coreRows compares throughput and CPU time per request of clients on several cores.
func coreRows(ctx context.Context, e *env) error {
	if !e.manyCores("many cores") {
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
	r.addCPU(w, samples)
	ours, peer := samples["redline"], samples[w.peer]
	if len(ours) == 0 {
		return
	}
	line := row{Work: w.name + ": throughput", InFlight: w.inFlight, Tool: "redline", Figure: median(rates(ours)), Unit: "requests/s"}
	b := atLeast(w.bar, "× "+w.peer)
	if len(peer) > 0 {
		line.compare(b, rates(ours), rates(peer))
	} else {
		line.unmeasured(b)
	}
	r.add(line)
}
