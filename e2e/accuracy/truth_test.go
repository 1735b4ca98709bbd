package accuracy

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// resultFile is the part of --json that these tests read.
type resultFile struct {
	Levels []struct {
		Windows []struct {
			StartUnixNs int64 `json:"start_unix_ns"`
			EndUnixNs   int64 `json:"end_unix_ns"`
		} `json:"windows"`
		Used   int `json:"used"`
		Client struct {
			Requests    uint64  `json:"requests"`
			Failed      uint64  `json:"failed"`
			InferPerSec float64 `json:"infer_per_sec"`
			Latency     struct {
				Avg         float64 `json:"avg"`
				Percentiles []struct {
					P float64 `json:"p"`
					V float64 `json:"v"`
				} `json:"percentiles"`
			} `json:"latency"`
		} `json:"client"`
	} `json:"levels"`
}

// p50Tolerance is how much more than the server's own log the client's median may be.
const p50Tolerance = time.Millisecond

// With a server that holds each response for 20 ms, the client must report what the server did: its figures are compared
// with the server's own log of the same windows.
func TestTimedReportsWhatTheServerDid(t *testing.T) {
	window := "600"
	if outcome.Heavy() {
		window = "3000"
	}
	for _, protocol := range []string{"http", "grpc"} {
		for _, concurrency := range []int{1, 8, 64} {
			t.Run(fmt.Sprintf("%s/%d", protocol, concurrency), func(t *testing.T) {
				disturbance.Try(t, func() error { return reportsTruth(t, protocol, concurrency, window) })
			})
		}
	}
}

// reportsTruth measures once. Counts, failures and latencies below the server's delay fail the test; an error is a time
// that misses its tolerance.
func reportsTruth(t *testing.T, protocol string, concurrency int, window string) error {
	t.Helper()
	const delay = 20 * time.Millisecond
	dir := t.TempDir()
	log, out := filepath.Join(dir, "log"), filepath.Join(dir, "result.json")
	if err := profile(t, dir, protocol, []string{"--delay", "simple=" + delay.String(), "--request-log", log},
		"--concurrency-range", strconv.Itoa(concurrency), "-p", window, "-r", "3", "-s", "99999", "--json", out); err != nil {
		return err
	}
	var res resultFile
	readJSON(t, out, &res)
	level := res.Levels[0]
	windows := level.Windows[len(level.Windows)-level.Used:]
	start, end := windows[0].StartUnixNs, windows[len(windows)-1].EndUnixNs
	var served []int64
	for _, l := range readLog(t, log) {
		if l.Replied >= start && l.Replied <= end {
			served = append(served, l.Replied-l.Received)
		}
	}
	if len(served) == 0 {
		t.Fatal("the server's log has nothing in the measured windows")
	}
	slices.Sort(served)
	client := level.Client
	truth, got := time.Duration(served[len(served)/2]), time.Duration(0)
	for _, q := range client.Latency.Percentiles {
		if q.P == 50 {
			got = time.Duration(q.V)
		}
	}
	switch {
	case client.Failed > 0:
		t.Fatalf("%d failed requests", client.Failed)
	case got < delay:
		t.Fatalf("p50 %v, the server holds each answer for %v", got, delay)
	// At each end of the windows a request in flight may count on one side alone.
	case math.Abs(float64(client.Requests)-float64(len(served))) > float64(2*concurrency):
		t.Fatalf("%d requests, the server answered %d", client.Requests, len(served))
	}
	if got < truth || got > truth+p50Tolerance {
		return fmt.Errorf("p50 %v, the server took %v; %v more is allowed", got, truth, p50Tolerance)
	}
	want := float64(concurrency) / time.Duration(client.Latency.Avg).Seconds()
	if math.Abs(client.InferPerSec/want-1) > 0.05 {
		return fmt.Errorf("%.1f infer/sec, but concurrency / latency is %.1f", client.InferPerSec, want)
	}
	return nil
}

// Other work on the machine only ever adds to a latency. So the shortest latency of many requests must be near the
// shortest time that the server took, however busy the machine is.
func TestShortestLatency(t *testing.T) {
	const (
		delay     = 2 * time.Millisecond
		tolerance = time.Millisecond
		requests  = 500
	)
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			dir := t.TempDir()
			log, records := filepath.Join(dir, "log"), filepath.Join(dir, "records.csv")
			if err := profile(t, dir, protocol, []string{"--delay", "simple=" + delay.String(), "--request-log", log},
				"--request-count", strconv.Itoa(requests), "--records", records); err != nil {
				t.Fatal(err)
			}
			served, measured := readLog(t, log), readRecords(t, records)
			if len(served) != requests || len(measured) != requests {
				t.Fatalf("%d requests in the server's log, %d in the records, want %d", len(served), len(measured), requests)
			}
			shortest, truth := measured[0].latency, served[0].Replied-served[0].Received
			for i := range served {
				shortest = min(shortest, measured[i].latency)
				truth = min(truth, served[i].Replied-served[i].Received)
			}
			t.Logf("shortest latency %v, by the server's log %v", time.Duration(shortest), time.Duration(truth))
			if over := time.Duration(shortest - truth); time.Duration(shortest) < delay || over > tolerance {
				t.Errorf("the shortest latency is %v, by the server's log %v; at most %v more is allowed and never less than %v",
					time.Duration(shortest), time.Duration(truth), tolerance, delay)
			}
		})
	}
}

// profile runs `redline profile` on model simple to its end, against a server of its own that has then written its log. See
// binary.WindowError for the error.
func profile(t *testing.T, dir, protocol string, serve []string, args ...string) error {
	t.Helper()
	return load(t, dir, serve, func(s *binary.Server) []string {
		return append([]string{"-m", "simple", "-i", protocol, "-u", s.Address(protocol)}, args...)
	})
}

// load runs `redline profile` with the options that args returns, as profile does.
func load(t *testing.T, dir string, serve []string, args func(*binary.Server) []string) error {
	t.Helper()
	s, err := binary.StartServer(dir, bin, serve...)
	if err != nil {
		t.Fatal(err)
	}
	// A run that waits for a lost request has no end of its own.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "redline"), append([]string{"profile"}, args(s)...)...)
	text, err := cmd.CombinedOutput()
	s.Stop()
	return binary.WindowError(t, err, text)
}

// row is the part of a line of --records that these tests read.
type row struct {
	sent, latency int64
	slot, window  int64
	class         string
	wall          int64 // Unix time of the send
	step          int64 // number of the request in the input data
}

func readRecords(t *testing.T, path string) []row {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%s: %d lines, %v", path, len(lines), err)
	}
	text := func(line []string, column string) string { return line[slices.Index(lines[0], column)] }
	number := func(line []string, column string) int64 {
		n, err := strconv.ParseInt(text(line, column), 10, 64)
		if err != nil {
			t.Fatalf("%s: %s: %v", path, column, err)
		}
		return n
	}
	var rows []row
	for _, line := range lines[1:] {
		rows = append(rows, row{number(line, "sent_ns"), number(line, "latency_ns"), number(line, "slot"), number(line, "window"), text(line, "class"), number(line, "wall_ns"), number(line, "step")})
	}
	return rows
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readLog(t *testing.T, path string) []calibrate.Logged {
	t.Helper()
	log, err := (&calibrate.Log{Path: path}).Read()
	if err != nil {
		t.Fatal(err)
	}
	return log
}
