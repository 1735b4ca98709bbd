// Package records reads profile_export.jsonl, in which Redline and AIPerf list the requests of a run.
package records

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/redline-bench/redline/internal/calibrate"
)

// Request is one request: when it was sent, when its tokens came, and its own times in milliseconds.
type Request struct {
	calibrate.Stream
	TTFT, ITL float64
}

// Read reads all requests of a file.
func Read(path string) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []Request
	for lines := json.NewDecoder(f); lines.More(); {
		var line struct {
			Metadata struct {
				ID    string `json:"x_request_id"`
				Start int64  `json:"request_start_ns"`
			} `json:"metadata"`
			Metrics struct {
				TTFT value[float64]   `json:"time_to_first_token"`
				ITL  value[float64]   `json:"inter_token_latency"`
				Gaps value[[]float64] `json:"inter_chunk_latency"`
			} `json:"metrics"`
		}
		if err := lines.Decode(&line); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		at := line.Metadata.Start
		r := Request{Stream: calibrate.Stream{ID: line.Metadata.ID, From: at}, TTFT: line.Metrics.TTFT.Value, ITL: line.Metrics.ITL.Value}
		for _, ms := range append([]float64{r.TTFT}, line.Metrics.Gaps.Value...) {
			at += int64(ms * 1e6)
			r.At = append(r.At, at)
		}
		list = append(list, r)
	}
	return list, nil
}

type value[T any] struct {
	Value T `json:"value"`
}

// Streams are the times of requests alone.
func Streams(list []Request) []calibrate.Stream {
	var out []calibrate.Stream
	for _, r := range list {
		out = append(out, r.Stream)
	}
	return out
}
