package qa

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// decoupled is C15 to C17: a model with several responses a request, and its export.
func (b *bench) decoupled(t *testing.T) {
	var dir string
	disturbance.Try(t, func() error {
		dir = t.TempDir()
		const line = "-m repeat -u {grpc} --input-data={data}/../../testdata/data/repeat.json --profile-export-file profile_export.json -i grpc --async --streaming -p{5000}"
		_, err := b.run(t, &check{pass: "zero"}, b.perfAnalyzer(), dir, line)
		return err
	})
	text, err := os.ReadFile(filepath.Join(dir, "profile_export.json"))
	if err != nil {
		t.Fatal(err)
	}
	var export struct {
		Experiments []struct {
			Experiment *struct {
				Mode  *string      `json:"mode"`
				Value *json.Number `json:"value"`
			} `json:"experiment"`
			Requests []struct {
				Timestamp *int64  `json:"timestamp"`
				Responses []int64 `json:"response_timestamps"`
			} `json:"requests"`
			Boundaries []int64 `json:"window_boundaries"`
		} `json:"experiments"`
		Version *string `json:"version"`
	}
	if err := json.Unmarshal(text, &export); err != nil {
		t.Fatal(err)
	}
	if len(export.Experiments) == 0 || export.Version == nil {
		t.Fatal("C17: no experiment or no version")
	}
	several, seen := false, map[int64]bool{}
	for _, e := range export.Experiments {
		if e.Experiment == nil || e.Experiment.Mode == nil || e.Experiment.Value == nil || len(e.Requests) == 0 {
			t.Errorf("C17: %+v", e.Experiment)
		}
		for _, r := range e.Requests {
			several = several || len(r.Responses) > 1
			if r.Timestamp == nil || len(r.Responses) == 0 {
				t.Errorf("C17: %+v", r)
			}
		}
		for _, at := range e.Boundaries {
			if seen[at] {
				t.Errorf("C17: boundary %d stands twice", at)
			}
			seen[at] = true
		}
	}
	if !several {
		t.Error("C16: no request has more than one response")
	}
}

// groundTruth is table F: a model that takes a known time, one request after the other.
func (b *bench) groundTruth(t *testing.T) {
	outcome.HeavyOnly(t, "table F with a delay of 50 ms, which needs an idle machine")
	for protocol, target := range targets {
		t.Run(protocol, func(t *testing.T) { b.truth(t, 0.05, target) })
	}
}

// longWaits is table F with a delay of half a second: what a busy machine adds to it is small.
func (b *bench) longWaits() []pool.Task {
	var tasks []pool.Task
	for protocol, target := range targets {
		tasks = append(tasks, pool.Task{Name: "ground truth of half a second, " + protocol, Needs: []string{"ground truth"}, Run: func(t *testing.T) { b.truth(t, 0.5, target) }})
	}
	return tasks
}

var targets = map[string]string{"http": "-i http -u {http}", "grpc": "-i grpc -u {grpc}"}

var grpcTime = regexp.MustCompile(`(?m)^.*Avg gRPC time: (\d+) usec.*$`)

// truth measures a delay in seconds: the throughput must be its inverse, within 5 %.
func (b *bench) truth(t *testing.T, delay float64, target string) {
	// Requests of each of three windows: one more or less of all three is not 5 %.
	requests := 20.0
	if outcome.Heavy() {
		requests = max(40, 5/delay)
	}
	line := fmt.Sprintf("%s --concurrency-range 2 --input-data {data}/wait_%g.json -m ground_truth -f results -p %d", target, delay, int(1000*requests*delay))
	disturbance.Try(t, func() error {
		dir := t.TempDir()
		output, err := b.run(t, &check{pass: "ok"}, b.perfAnalyzer(), dir, line)
		if err != nil {
			return err
		}
		for _, m := range grpcTime.FindAllStringSubmatch(output, -1) {
			if m[1] == "0" {
				t.Errorf("F3: %s", m[0])
			}
		}
		rows := readCSV(t, filepath.Join(dir, "results"))
		got, err := strconv.ParseFloat(rows[1][1], 64)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got*delay-1) > 0.05 {
			return fmt.Errorf("F2: %.3f infer/sec, want %.3f within 5 %%", got, 1/delay)
		}
		return nil
	})
}

func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %v, %d rows", name, err, len(rows))
	}
	return rows
}
