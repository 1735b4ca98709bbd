package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	tools := []struct {
		name string
		argv []string
	}{
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
		line.judge(atMost(0.1, "× AIPerf"), line.Figure/s.micros())
		e.report.add(line)
	}
	return nil
}

// aiperfCPU is what AIPerf spends on the same streams, where it is in the cache folder. It is slow, so it gets fewer
// requests and one round; its start is taken out by a second run of half as many.
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

// truth is one run against a server with pinned times that keeps its own log of when it wrote each event.
const (
	truthTTFT   = 20 * time.Millisecond
	truthITL    = 10 * time.Millisecond
	truthTokens = 50
)

// truthRows compares the time to the first token and the time between tokens with what the server's log says.
func truthRows(ctx context.Context, e *env) error {
	for _, streams := range []int{64, 128, 512} {
		var best *[4]float64
		for range e.rounds {
			errs, err := e.truth(ctx, streams)
			if err != nil {
				return err
			}
			if best == nil || slices.Max(errs[:]) < slices.Max(best[:]) {
				best = errs
			}
		}
		e.progress("%d streams", streams)
		for i, what := range []string{"time to first token, mean", "time to first token, p99", "time between tokens, mean", "time between tokens, p99"} {
			limit := 1.0
			if i%2 == 1 {
				limit = 3
			}
			line := row{Work: "error of the " + what, InFlight: streams, Tool: "redline", Figure: best[i], Unit: "ms"}
			line.judge(atMost(limit, "ms"), best[i])
			e.report.add(line)
		}
	}
	return nil
}

// truth gives the errors of one run in milliseconds: of the mean and p99 of both times.
func (e *env) truth(ctx context.Context, streams int) (*[4]float64, error) {
	dir, err := os.MkdirTemp(e.dir, "truth-")
	if err != nil {
		return nil, err
	}
	log, export, data := filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "export.json"), filepath.Join(dir, "data.json")
	w := stream{tokens: truthTokens}
	if err := os.WriteFile(data, fmt.Appendf(nil, `{"data":[{"payload":[%s]}]}`, w.body()), 0o644); err != nil {
		return nil, err
	}
	srv, err := binary.Serve("", pinned(serverCore, e.bin, "serve", "--ttft", truthTTFT.String(), "--itl", truthITL.String(), "--request-log", log)...)
	if err != nil {
		return nil, err
	}
	_, err = measure(ctx, pinned(clientCore, e.bin, "profile", "-m", "mock-llm", "--service-kind", "openai", "-u", srv.Ports["openai"],
		"--endpoint", streamPath[1:], "--async", "--input-data", data, "--concurrency-range", strconv.Itoa(streams),
		"--request-count", strconv.Itoa(3*streams), "--profile-export-file", export)...)
	srv.Stop()
	if err != nil {
		return nil, err
	}
	told, err := exportRequests(export)
	if err != nil {
		return nil, err
	}
	written, err := logEvents(log)
	if err != nil {
		return nil, err
	}
	if len(told) != len(written) {
		return nil, fmt.Errorf("the client tells of %d streams, the server of %d", len(told), len(written))
	}
	// The first events come in the order in which they were written, up to differences too small to matter here.
	byFirst := func(a, b request) int { return cmp.Compare(a.Times[0], b.Times[0]) }
	slices.SortFunc(told, byFirst)
	slices.SortFunc(written, byFirst)
	var seen, truth times
	for i, r := range told {
		seen.add(r.Sent, r.Times)
		truth.add(r.Sent, written[i].Times)
	}
	return &[4]float64{
		off(mean(seen.first), mean(truth.first)), off(p99(seen.first), p99(truth.first)),
		off(mean(seen.between), mean(truth.between)), off(p99(seen.between), p99(truth.between)),
	}, nil
}

// times are in nanoseconds.
type times struct{ first, between []float64 }

func (t *times) add(start int64, events []int64) {
	for i, at := range events {
		if i == 0 {
			t.first = append(t.first, float64(at-start))
		} else {
			t.between = append(t.between, float64(at-events[i-1]))
		}
	}
}

// request is when a request was sent, and when its tokens came or were written.
type request struct {
	Sent  int64   `json:"timestamp"`
	Times []int64 `json:"response_timestamps"`
}

// exportRequests reads what the client says. The end of a stream is an event of its own, which is no token.
func exportRequests(path string) ([]request, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Experiments []struct {
			Requests []request `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Experiments) != 1 {
		return nil, errors.New("the export holds no experiment")
	}
	all := doc.Experiments[0].Requests
	for i := range all {
		if len(all[i].Times) < truthTokens {
			return nil, fmt.Errorf("a request has %d responses", len(all[i].Times))
		}
		all[i].Times = all[i].Times[:truthTokens]
	}
	return all, nil
}

// logEvents reads what the server says.
func logEvents(path string) ([]request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []request
	for lines := json.NewDecoder(file); lines.More(); {
		var line struct {
			Events []int64 `json:"events_ns"`
		}
		if err := lines.Decode(&line); err != nil {
			return nil, err
		}
		if len(line.Events) < truthTokens {
			return nil, fmt.Errorf("the server wrote %d events", len(line.Events))
		}
		all = append(all, request{Times: line.Events[:truthTokens]})
	}
	return all, nil
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func p99(v []float64) float64 {
	slices.Sort(v)
	return v[min(len(v)-1, len(v)*99/100)]
}

// off is how far a is from b, in milliseconds.
func off(a, b float64) float64 { return max(a-b, b-a) / 1e6 }
