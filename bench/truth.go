package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/stats"
)

// Each run is against a server with fixed delays that logs when it wrote each event.
const (
	truthTTFT   = 20 * time.Millisecond
	truthITL    = 10 * time.Millisecond
	truthTokens = 50
)

// streamTransport is how tokens are streamed to a client.
type streamTransport struct {
	prefix string // of the rows' names
	port   string
	args   []string
	data   string
}

// plainTransport has a connection for each stream.
var plainTransport = streamTransport{
	port: "openai",
	args: []string{"-m", "mock-llm", "--service-kind", "openai", "--endpoint", streamPath[1:]},
	data: fmt.Sprintf(`{"data":[{"payload":[%s]}]}`, stream{tokens: truthTokens}.body()),
}

// sharedTransports have up to 64 streams on one connection: OpenAI over HTTP/2, and a decoupled model over gRPC.
var sharedTransports = []streamTransport{
	{prefix: "HTTP/2: ", port: "openai", args: append(slices.Clone(plainTransport.args), "--http-version", "2"), data: plainTransport.data},
	{
		prefix: "gRPC: ", port: "grpc",
		args: []string{"-m", "tensorrt_llm", "-i", "grpc", "--streaming", "--shape", "input_ids:1"},
		data: fmt.Sprintf(`{"data":[{"input_ids":[7],"input_lengths":[1],"request_output_len":[%d],"streaming":[true]}]}`, truthTokens),
	},
}

// truthRows compares the time to first token and the time between tokens with the server's log.
func truthRows(ctx context.Context, e *env) error {
	return e.truthOf(ctx, plainTransport, 64, 128, 512)
}

// sharedRows is truthRows for streams that share a connection.
func sharedRows(ctx context.Context, e *env) error {
	for _, w := range sharedTransports {
		if err := e.truthOf(ctx, w, 1, 64, 128, 512); err != nil {
			return err
		}
	}
	return nil
}

// truthOf adds the rows of one transport. A busy machine only adds error, so the best round counts.
func (e *env) truthOf(ctx context.Context, w streamTransport, counts ...int) error {
	for _, streams := range counts {
		var best []float64
		for range e.rounds {
			errs, err := e.truth(ctx, w, streams)
			if err != nil {
				return fmt.Errorf("%s%d streams: %w", w.prefix, streams, err)
			}
			if best == nil || slices.Max(errs) < slices.Max(best) {
				best = errs
			}
		}
		e.progress("%s%d streams", w.prefix, streams)
		e.report.addErrors(w.prefix, "redline", streams, best, true)
	}
	return nil
}

// addErrors adds the four errors of a tool's times, in milliseconds, and judges them where a bar is held.
func (r *report) addErrors(prefix, tool string, streams int, errs []float64, held bool) {
	for i, what := range []string{"time to first token, mean", "time to first token, p99", "time between tokens, mean", "time between tokens, p99"} {
		line := row{Work: prefix + "error of the " + what, InFlight: streams, Tool: tool, Figure: errs[i], Unit: "ms"}
		if held {
			line.judge(atMost([]float64{1, 3}[i%2], "ms"), errs[i])
		}
		r.add(line)
	}
}

// truth gives the errors of one run in milliseconds: of the mean and p99 of both times.
func (e *env) truth(ctx context.Context, w streamTransport, streams int) ([]float64, error) {
	dir, err := os.MkdirTemp(e.dir, "truth-")
	if err != nil {
		return nil, err
	}
	log, export, data := filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "export.json"), filepath.Join(dir, "data.json")
	if err := os.WriteFile(data, []byte(w.data), 0o644); err != nil {
		return nil, err
	}
	srv, err := binary.Serve("", pinned(serverCore, e.bin, "serve", "--ttft", truthTTFT.String(), "--itl", truthITL.String(), "--request-log", log)...)
	if err != nil {
		return nil, err
	}
	addr := srv.Ports[w.port]
	if w.port == "grpc" {
		addr = srv.GRPC
	}
	argv := append([]string{e.bin, "profile", "-u", addr}, w.args...)
	_, err = measure(ctx, pinned(clientCore, append(argv, "--async", "--input-data", data, "--concurrency-range", strconv.Itoa(streams),
		"--request-count", strconv.Itoa(max(8, 3*streams)), "--profile-export-file", export)...)...)
	srv.Stop()
	if err != nil {
		return nil, err
	}
	told, err := exportRequests(export)
	if err != nil {
		return nil, err
	}
	written, err := (&calibrate.Log{Path: log}).Streams(ctx, 0, 0)
	if err != nil {
		return nil, err
	}
	pairs, err := calibrate.PairStreams(told, written)
	if err != nil {
		return nil, err
	}
	var seen, truth times
	for _, p := range pairs {
		seen.add(p.Seen.From, p.Seen.At)
		truth.add(p.Seen.From, p.Written.At[:truthTokens])
	}
	return []float64{
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

// exportRequests reads the client's export. The end of a stream is an event of its own, which is not a token.
func exportRequests(path string) ([]calibrate.Stream, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Experiments []struct {
			Requests []struct {
				Sent  int64   `json:"timestamp"`
				Times []int64 `json:"response_timestamps"`
			} `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Experiments) != 1 {
		return nil, errors.New("the export holds no experiment")
	}
	var all []calibrate.Stream
	for _, r := range doc.Experiments[0].Requests {
		if len(r.Times) < truthTokens {
			return nil, fmt.Errorf("a request has %d responses", len(r.Times))
		}
		all = append(all, calibrate.Stream{From: r.Sent, At: r.Times[:truthTokens]})
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
	return stats.Interpolate(99, len(v), func(k int) float64 { return v[k] })
}

// off is how far a is from b, in milliseconds.
func off(a, b float64) float64 { return max(a-b, b-a) / 1e6 }
