package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
)

// crowd is a number of streams at once, with a pause between tokens that gives 10,000 to 51,200 events per second.
type crowd struct {
	streams int
	pause   time.Duration
}

var crowds = []crowd{{512, 10 * time.Millisecond}, {2000, 50 * time.Millisecond}, {5000, 100 * time.Millisecond}, {10_000, 200 * time.Millisecond}}

// manyStreamRows compares the CPU time of `redline llm` for each event, with its requests and files, with that of a bare reader, at
// growing numbers of streams. The client has four cores, the server half of the machine.
func manyStreamRows(ctx context.Context, e *env) error {
	if !e.manyCores("many streams") {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, c := range crowds {
		if err := e.crowd(ctx, self, c); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) crowd(ctx context.Context, self string, c crowd) error {
	const cores = coreSets(4)
	w := stream{tokens: int(4 * time.Second / c.pause), requests: 2 * c.streams}
	srv, err := binary.Serve("", pinned(cores.server(), e.bin, "serve", "--ttft", c.pause.String(), "--itl", c.pause.String())...)
	if err != nil {
		return err
	}
	defer srv.Stop()
	addr, streams, requests := srv.Ports["openai"], strconv.Itoa(c.streams), strconv.Itoa(w.requests)
	tools := []named{
		{"redline llm", []string{
			e.bin, "llm", "-m", "mock-llm", "-u", addr, "--streaming", "--concurrency", streams, "--request-count", requests,
			"--isl", "16", "--osl", strconv.Itoa(w.tokens), "--artifact-dir", e.file("crowd"),
		}},
		{"bare reader", []string{self, "reader", addr, streamPath, streams, requests, w.body()}},
	}
	best := map[string]float64{}
	for range e.rounds {
		for _, t := range tools {
			u, err := measure(ctx, pinned(cores.client(), t.argv...)...)
			if err != nil {
				return fmt.Errorf("%s, %d streams: %w", t.name, c.streams, err)
			}
			s := sample{requests: w.requests * w.tokens, cpu: u.cpu, wall: u.wall}
			if b, ok := best[t.name]; !ok || s.micros() < b {
				best[t.name] = s.micros()
			}
		}
	}
	e.progress("%d streams", c.streams)
	for _, t := range tools {
		line := row{Work: fmt.Sprintf("language model, a token each %v, for each event", c.pause), InFlight: c.streams, Tool: t.name, Figure: best[t.name], Unit: "µs CPU"}
		if t.name != "bare reader" {
			line.judge(atMost(1.5, "× a bare reader"), line.Figure/best["bare reader"])
		}
		e.report.add(line)
	}
	return nil
}
