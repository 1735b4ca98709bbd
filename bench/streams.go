package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
)

// stream is one kind of streamed work: how long the server waits between tokens, and how many there are.
type stream struct {
	name     string
	pause    time.Duration
	tokens   int
	requests int
}

const (
	streamPath  = "/v1/chat/completions"
	streamCount = 64
)

var streamed = []stream{
	{"SSE, a token each 10 ms", 10 * time.Millisecond, 100, 256},
	{"SSE, tokens without pauses", 0, 100, 4096},
}

func (s stream) body() string {
	return fmt.Sprintf(`{"model":"mock-llm","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`, s.tokens)
}

// streamRows compares the CPU time for each streamed event with that of a bare reader: the server on one core, the
// client on another. The second row of ours keeps every event, with its time and its bytes, and writes them down.
func streamRows(ctx context.Context, e *env) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, w := range streamed {
		w.requests = max(streamCount, e.requests(w.requests))
		srv, err := binary.Serve("", pinned(serverCore, e.bin, "serve", "--ttft", "0s", "--itl", w.pause.String())...)
		if err != nil {
			return err
		}
		err = e.streamCPU(ctx, self, w, srv.Ports["openai"])
		srv.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *env) streamCPU(ctx context.Context, self string, w stream, addr string) error {
	data := e.file("stream.json")
	if err := os.WriteFile(data, fmt.Appendf(nil, `{"data":[{"payload":[%s]}]}`, w.body()), 0o644); err != nil {
		return err
	}
	ours := []string{
		e.bin, "profile", "-m", "mock-llm", "--service-kind", "openai", "-u", addr, "--endpoint", streamPath[1:], "--async",
		"--input-data", data, "--concurrency-range", strconv.Itoa(streamCount), "--request-count", strconv.Itoa(w.requests),
	}
	export := e.file("stream-export.json")
	tools := []named{
		{"redline", ours},
		{"redline, events kept", append(slices.Clip(ours), "--profile-export-file", export)},
		{"bare reader", []string{self, "reader", addr, streamPath, strconv.Itoa(streamCount), strconv.Itoa(w.requests), w.body()}},
	}
	counted := map[string]*regexp.Regexp{"bare reader": regexp.MustCompile(`events (\d+)`)}
	best := map[string]sample{}
	if w.pause > 0 {
		if s, ok := e.aiperfCPU(ctx, w, addr); ok {
			best["AIPerf"] = s
		}
	}
	for range e.rounds {
		for _, t := range tools {
			_ = os.Remove(export) // it must not be there
			u, err := measure(ctx, pinned(clientCore, t.argv...)...)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			s := sample{requests: w.requests * w.tokens, cpu: u.cpu, wall: u.wall}
			answered, want := requestCount, w.requests
			if own := counted[t.name]; own != nil {
				answered, want = own, w.requests*w.tokens
			}
			if m := answered.FindStringSubmatch(u.output); m == nil || m[1] < strconv.Itoa(want) && len(m[1]) <= len(strconv.Itoa(want)) {
				return fmt.Errorf("%s did not get everything: %s", t.name, lastLine(u.output))
			}
			if b, ok := best[t.name]; !ok || s.micros() < b.micros() {
				best[t.name] = s
			}
		}
	}
	e.progress("%s", w.name)
	bare := best["bare reader"].micros()
	for _, t := range tools {
		s := best[t.name]
		line := row{Work: w.name + ", for each event", InFlight: streamCount, Tool: t.name, Figure: s.micros(), Unit: "µs CPU"}
		if t.name != "bare reader" {
			line.judge(atMost(1.5, "× a bare reader"), line.Figure/bare)
		}
		e.report.add(line)
	}
	if s, ok := best["AIPerf"]; ok {
		e.report.add(row{Work: w.name + ", for each event", InFlight: streamCount, Tool: "AIPerf", Figure: s.micros(), Unit: "µs CPU"})
		line := row{Work: w.name + ", against AIPerf", InFlight: streamCount, Tool: "redline", Figure: best["redline, events kept"].micros(), Unit: "µs CPU"}
		line.judge(atMost(0.125, "× AIPerf"), line.Figure/s.micros())
		e.report.add(line)
	}
	return nil
}

// aiperfCPU is AIPerf's CPU time for the same streams, if it is in the cache folder. It is slow, so it gets fewer requests and one
// round; a second run of half as many removes the cost of its start.
func (e *env) aiperfCPU(ctx context.Context, w stream, addr string) (sample, bool) {
	t := e.aiperf()
	if t.error != "" {
		e.report.note("AIPerf, CPU: NOT MEASURED: %s", t.error)
		return sample{}, false
	}
	var used [2]usage
	counts := [2]int{streamCount, 3 * streamCount}
	for i, n := range counts {
		dir, err := os.MkdirTemp(e.dir, "aiperf-")
		if err == nil {
			argv := t.argv(addr, dir, streamCount, n)
			for k, a := range argv {
				if a == "--osl" {
					argv[k+1] = strconv.Itoa(w.tokens)
				}
			}
			used[i], err = measure(ctx, pinned(clientCore, argv...)...)
		}
		if err != nil {
			e.report.note("AIPerf, CPU: NOT MEASURED: %v", err)
			return sample{}, false
		}
	}
	s := sample{requests: (counts[1] - counts[0]) * w.tokens, cpu: used[1].cpu - used[0].cpu, wall: used[1].wall}
	e.progress("AIPerf, %s", w.name)
	return s, s.cpu > 0
}
