// Command bench measures what a request costs the client, side by side with the peers: one canned server, one
// core for the client, and the CPU time (user and system) of the client's whole process tree divided by the
// requests that were answered.
//
// It runs each piece of work several times, in turns, and takes the median, so that a noisy moment hits all
// tools alike. It prints a table with the bars to reach and writes it as Markdown and JSON.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/redline", "the program to measure")
	out := flag.String("out", "out/bench", "folder for bench.md and bench.json")
	rounds := flag.Int("rounds", 3, "runs of each tool; the median counts")
	scale := flag.Float64("scale", 1, "multiplies the number of requests")
	strict := flag.Bool("strict", false, "exit with 1 when a bar is missed")
	flag.Parse()
	report, err := run(*bin, *rounds, *scale)
	if err == nil {
		err = report.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	fmt.Print(report.markdown())
	fmt.Printf("\nwritten: %s and bench.json beside it\n", filepath.Join(*out, "bench.md"))
	if *strict && slices.ContainsFunc(report.Rows, func(r row) bool { return r.Verdict == "missed" }) {
		os.Exit(1)
	}
}

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
	{"HTTP infer, 64-byte tensor", "http", small, 8, "wrk", 1.25, 200_000},
	{"HTTP infer, 64-byte tensor", "http", small, 64, "wrk", 1.25, 200_000},
	{"gRPC unary infer, 64-byte tensor", "grpc", small, 8, "h2load", 1.0, 300_000},
	{"gRPC unary infer, 64-byte tensor", "grpc", small, 64, "h2load", 1.0, 300_000},
	{"gRPC stream infer, 64-byte tensor", "stream", small, 8, "perf_analyzer", 0.125, 300_000},
	{"gRPC stream infer, 64-byte tensor", "stream", small, 64, "perf_analyzer", 0.125, 300_000},
	{"HTTP infer, 1 MiB tensor", "http", large, 8, "wrk", 1.25, 1_000},
	{"gRPC unary infer, 1 MiB tensor", "grpc", large, 8, "h2load", 1.25, 1_000},
}

func run(bin string, rounds int, scale float64) (*report, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "redline-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	srv, err := startNull(bin)
	if err != nil {
		return nil, err
	}
	defer srv.Stop()
	tools := findTools(ctx, bin)
	rep := newReport()
	for _, w := range works {
		w.requests = int(float64(w.requests) * scale)
		payload, err := writePayload(dir, w.elements)
		if err != nil {
			return nil, err
		}
		samples := map[string][]sample{}
		for range rounds {
			for _, tool := range tools {
				if !tool.does(w.protocol) {
					continue
				}
				s, err := tool.run(ctx, w, srv, payload)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err != nil {
					rep.note("%s, %s, %d in flight: %v", tool.name, w.name, w.inFlight, err)
					continue
				}
				samples[tool.name] = append(samples[tool.name], s)
			}
		}
		rep.add(w, samples)
		fmt.Fprintf(os.Stderr, "%s  %s, %d in flight\n", time.Now().Format(time.TimeOnly), w.name, w.inFlight)
	}
	return rep, nil
}
