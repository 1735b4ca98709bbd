package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/crowd"
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
				Avg         int64 `json:"avg"`
				Percentiles []struct {
					P  float64 `json:"p"`
					Ns int64   `json:"ns"`
				} `json:"percentiles"`
			} `json:"latency"`
		} `json:"client"`
	} `json:"levels"`
}

// logLine is one line of the reference server's request log.
type logLine struct {
	Model      string `json:"model"`
	ReceivedNs int64  `json:"received_ns"`
	RepliedNs  int64  `json:"replied_ns"`
}

// With a server that holds each answer for 20 ms, the client must report what the server did: it is compared with
// the server's own log of the same windows, so that the test holds on a busy machine too.
func TestReportsWhatTheServerDid(t *testing.T) {
	window := "600"
	if os.Getenv("REDLINE_HEAVY") != "" {
		window = "3000"
	}
	for _, protocol := range []string{"http", "grpc"} {
		for _, concurrency := range []int{1, 8, 64} {
			t.Run(fmt.Sprintf("%s/%d", protocol, concurrency), func(t *testing.T) {
				var err error
				for range 3 { // a burst of other work on the machine may spoil one run
					if err = reportsTruth(t, protocol, concurrency, window); err == nil {
						return
					}
					t.Log(err)
				}
				t.Error(err)
			})
		}
	}
}

func reportsTruth(t *testing.T, protocol string, concurrency int, window string) error {
	t.Helper()
	dir := t.TempDir()
	log, out := filepath.Join(dir, "log"), filepath.Join(dir, "result.json")
	s, err := startServer(dir, "--delay", "simple=20ms", "--request-log", log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "redline"), "profile", "-m", "simple", "-i", protocol, "-u", s.Address(protocol),
		"--concurrency-range", strconv.Itoa(concurrency), "-p", window, "-r", "3", "-s", "99999", "--json", out)
	running := crowd.Watch()
	text, err := cmd.CombinedOutput()
	allowed := time.Duration(crowded(running())) * time.Millisecond
	s.Stop()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var res resultFile
	readJSON(t, out, &res)
	level := res.Levels[0]
	windows := level.Windows[len(level.Windows)-level.Used:]
	start, end := windows[0].StartUnixNs, windows[len(windows)-1].EndUnixNs
	var served []int64
	for _, l := range readLog(t, log) {
		if l.RepliedNs >= start && l.RepliedNs <= end {
			served = append(served, l.RepliedNs-l.ReceivedNs)
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
			got = time.Duration(q.Ns)
		}
	}
	switch {
	case client.Failed > 0:
		return fmt.Errorf("%d failed requests", client.Failed)
	case got < truth || got > truth+allowed:
		return fmt.Errorf("p50 %v, the server took %v; %v more is allowed", got, truth, allowed)
	case math.Abs(float64(client.Requests)-float64(len(served))) > float64(2*concurrency):
		return fmt.Errorf("%d requests, the server answered %d", client.Requests, len(served))
	}
	want := float64(concurrency) / time.Duration(client.Latency.Avg).Seconds()
	if math.Abs(client.InferPerSec/want-1) > 0.05 {
		return fmt.Errorf("%.1f infer/sec, but concurrency / latency is %.1f", client.InferPerSec, want)
	}
	return nil
}

// crowded is how many times longer than on a machine of its own a thread had to wait, by the middle of the samples:
// 1 unless others compete.
func crowded(running []int) int { return max(1, running[len(running)/2]/runtime.NumCPU()) }

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

func readLog(t *testing.T, path string) []logLine {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []logLine
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var l logLine
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v in %q", path, err, scan.Text())
		}
		lines = append(lines, l)
	}
	return lines
}
