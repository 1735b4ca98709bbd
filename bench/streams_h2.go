package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/e2e/binary"
)

// shared is a way to stream on which many streams share a connection.
type shared struct {
	name string
	port string
	args []string
	data string
}

// sharedWays are OpenAI over HTTP/2, and a decoupled model over gRPC.
var sharedWays = []shared{
	{
		name: "HTTP/2", port: "openai",
		args: []string{"-m", "mock-llm", "--service-kind", "openai", "--endpoint", streamPath[1:], "--http-version", "2"},
		data: fmt.Sprintf(`{"data":[{"payload":[%s]}]}`, stream{tokens: truthTokens}.body()),
	},
	{
		name: "gRPC", port: "grpc",
		args: []string{"-m", "tensorrt_llm", "-i", "grpc", "--streaming", "--shape", "input_ids:1"},
		data: fmt.Sprintf(`{"data":[{"input_ids":[7],"input_lengths":[1],"request_output_len":[%d],"streaming":[true]}]}`, truthTokens),
	},
}

// sharedRows compares the time to the first token and the time between tokens with what the server's log says, where the
// tokens of up to 64 streams come over one connection.
func sharedRows(ctx context.Context, e *env) error {
	for _, w := range sharedWays {
		for _, streams := range []int{1, 64, 128, 512} {
			var best []float64
			for range e.rounds {
				errs, err := e.sharedTruth(ctx, w, streams)
				if err != nil {
					return fmt.Errorf("%s, %d streams: %w", w.name, streams, err)
				}
				if best == nil || slices.Max(errs) < slices.Max(best) {
					best = errs
				}
			}
			e.progress("%s, %d streams", w.name, streams)
			for i, what := range []string{"time to first token, mean", "time to first token, p99", "time between tokens, mean", "time between tokens, p99"} {
				line := row{Work: w.name + ": error of the " + what, InFlight: streams, Tool: "redline", Figure: best[i], Unit: "ms"}
				line.judge(atMost([]float64{1, 3}[i%2], "ms"), best[i])
				e.report.add(line)
			}
		}
	}
	return nil
}

// sharedTruth gives the errors of one run in milliseconds: of the mean and p99 of both times.
func (e *env) sharedTruth(ctx context.Context, w shared, streams int) ([]float64, error) {
	dir, err := os.MkdirTemp(e.dir, "shared-")
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
	written, err := logEvents(log)
	if err != nil {
		return nil, err
	}
	if len(told) != len(written) {
		return nil, fmt.Errorf("the client tells of %d streams, the server of %d", len(told), len(written))
	}
	byFirst := func(a, b request) int { return cmp.Compare(a.Times[0], b.Times[0]) }
	slices.SortFunc(told, byFirst)
	slices.SortFunc(written, byFirst)
	var seen, truth times
	for i, r := range told {
		seen.add(r.Sent, r.Times)
		truth.add(r.Sent, written[i].Times)
	}
	return []float64{
		off(mean(seen.first), mean(truth.first)), off(p99(seen.first), p99(truth.first)),
		off(mean(seen.between), mean(truth.between)), off(p99(seen.between), p99(truth.between)),
	}, nil
}
