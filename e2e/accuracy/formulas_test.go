package accuracy

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// exportFile is the part of --profile-export-file that these tests read.
type exportFile struct {
	Experiments []struct {
		Requests []struct {
			Timestamp int64   `json:"timestamp"`
			Responses []int64 `json:"response_timestamps"`
		} `json:"requests"`
		Boundaries []int64 `json:"window_boundaries"`
	} `json:"experiments"`
}

// Every number of the report is computed again from the exported requests, naively, and must be the same.
func TestFormulas(t *testing.T) {
	f := func(name string, batch int, args ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) { disturbance.Try(t, func() error { return checkFormulas(t, batch, args) }) })
	}
	f("http", 1)
	f("http batch", 4, "-b", "4", "--concurrency-range", "3")
	f("grpc async", 1, "-i", "grpc", "-a", "--concurrency-range", "5")
	f("rate", 1, "-i", "grpc", "--request-rate-range", "150")
	f("poisson", 2, "-b", "2", "--request-rate-range", "100", "--request-distribution", "poisson")
	f("count", 1, "--request-count", "40", "--concurrency-range", "4")
}

// checkFormulas makes one run. See binary.WindowError for the error.
func checkFormulas(t *testing.T, batch int, args []string) error {
	t.Helper()
	dir := t.TempDir()
	s, err := binary.StartServer(dir, bin, "--delay", "simple=5ms")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	protocol := "http"
	if slices.Contains(args, "grpc") {
		protocol = "grpc"
	}
	table, export := filepath.Join(dir, "a.csv"), filepath.Join(dir, "e.json")
	cmd := exec.Command(filepath.Join(bin, "perf_analyzer"), append([]string{
		"-m", "simple", "-u", s.Address(protocol), "-p", "500", "-r", "3", "-s", "99999", "-f", table, "--verbose-csv", "--profile-export-file", export,
	}, args...)...)
	out, err := cmd.CombinedOutput()
	if err := binary.WindowError(t, err, out); err != nil {
		return err
	}
	var file exportFile
	readJSON(t, export, &file)
	e := file.Experiments[0]
	var latencies []int64
	first, last := int64(math.MaxInt64), int64(0)
	for _, r := range e.Requests {
		end := r.Responses[len(r.Responses)-1]
		latencies = append(latencies, end-r.Timestamp)
		first, last = min(first, r.Timestamp), max(last, end)
	}
	duration := float64(e.Boundaries[len(e.Boundaries)-1] - e.Boundaries[0])
	if slices.Contains(args, "--request-count") {
		duration = float64(last - first)
	}
	avg, std := moments(latencies)
	slices.Sort(latencies)
	text := string(out)
	near(t, "request count", number(t, text, `Request count: (\d+)\n`), float64(len(latencies)), 0)
	rate := float64(len(latencies)*batch) / duration * 1e9
	near(t, "throughput", number(t, text, `  Throughput: (\S+) infer/sec`), rate, rate*1e-4)
	near(t, "average", number(t, text, `Avg latency: (\d+) usec`), avg/1e3, 1)
	near(t, "standard deviation", number(t, text, `standard deviation (\d+) usec`), std/1e3, 2)
	row := readRow(t, table)
	near(t, "CSV throughput", row["Inferences/Second"], rate, rate*1e-4)
	near(t, "CSV average", row["Avg latency"], avg/1e3, 1)
	for _, p := range []int{50, 90, 95, 99} {
		want := float64(latencies[int(float64(p)/100*float64(len(latencies)-1)+0.5)]) / 1e3
		near(t, fmt.Sprintf("p%d", p), number(t, text, fmt.Sprintf(`p%d latency: (\d+) usec`, p)), want, 1)
		near(t, fmt.Sprintf("CSV p%d", p), row[fmt.Sprintf("p%d latency", p)], want, 1)
	}
	return nil
}

func moments(xs []int64) (avg, std float64) {
	for _, x := range xs {
		avg += float64(x)
	}
	avg /= float64(len(xs))
	for _, x := range xs {
		std += (float64(x) - avg) * (float64(x) - avg)
	}
	return avg, math.Sqrt(std / float64(len(xs)-1))
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func number(t *testing.T, text, pattern string) float64 {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in:\n%s", pattern, text)
	}
	x, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func readRow(t *testing.T, path string) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	row := map[string]float64{}
	for i, name := range rows[0] {
		row[name], _ = strconv.ParseFloat(rows[1][i], 64)
	}
	return row
}
