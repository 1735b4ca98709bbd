package qa

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/crowd"
	"github.com/redline-bench/redline/e2e/native"
)

// decoupled is C15 to C17: a model with several responses a request, and its export.
func (b *bench) decoupled(t *testing.T) {
	var dir, out string
	code := 2
	for try := 0; try < 3 && unlucky(code); try++ {
		dir = t.TempDir()
		code, out = b.run(t, filepath.Join(b.bin, "perf_analyzer"), dir, "-m repeat -u {grpc} --input-data={data}/../../testdata/data/repeat.json --profile-export-file profile_export.json -i grpc --async --streaming -p{5000}")
	}
	if code != 0 {
		t.Fatalf("C15: exit code %d\n%s", code, out)
	}
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

// groundTruth is table F: a model that takes a known time, one request after the other. The long delay takes minutes.
func (b *bench) groundTruth(t *testing.T) {
	delays := []string{"0.05"}
	if heavy {
		delays = append(delays, "0.5")
	}
	for _, delay := range delays {
		for _, target := range []string{"-i http -u {http}", "-i grpc -u {grpc}"} {
			t.Run(delay+target[2:7], func(t *testing.T) { b.truth(t, delay, target) })
		}
	}
}

var grpcTime = regexp.MustCompile(`(?m)^.*gRPC.*$`)

func (b *bench) truth(t *testing.T, delay, target string) {
	wait, err := strconv.ParseFloat(delay, 64)
	if err != nil {
		t.Fatal(err)
	}
	least := 2500
	if heavy {
		least = 5000
	}
	window := strconv.Itoa(max(least, int(wait*40000))) // so that one request more or less is no 5 %
	var got float64
	for range 5 { // what else the machine does slows the model down too
		dir := t.TempDir()
		var code int
		var out string
		others := crowded(func() {
			code, out = b.run(t, filepath.Join(b.bin, "perf_analyzer"), dir, target+" --concurrency-range 2 --input-data {data}/wait_"+delay+".json -m ground_truth -f results -p "+window)
		})
		c := check{pass: "ok"}
		if why := c.wrong(code, out); why != "" {
			t.Fatalf("F1: %s\n%s", why, out)
		}
		for _, line := range grpcTime.FindAllString(out, -1) {
			if fields := strings.Fields(line); strings.Contains(target, "grpc") && strings.Contains(line, "Avg gRPC time") && fields[3] == "0" {
				t.Errorf("F3: %s", line)
			}
		}
		rows := readCSV(t, filepath.Join(dir, "results"))
		if got, err = strconv.ParseFloat(rows[1][1], 64); err != nil {
			t.Fatal(err)
		}
		if math.Abs(got*wait-1) <= 0.05*others {
			return
		}
	}
	t.Errorf("F2: %.3f infer/sec, want %.3f within 5 %%", got, 1/wait)
}

// crowded is how many threads want each core while something runs, at least 1. A model that sleeps wakes up late where
// others compete, and windows differ more: neither is perf_analyzer's fault.
func crowded(run func()) float64 {
	samples := crowd.Watch()
	run()
	all := samples()
	return max(1, float64(all[len(all)/2])/float64(runtime.NumCPU()))
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

// noModel is table H: least latency and most throughput, small and 16 MB inputs, and the columns that the reports are
// made of.
func (b *bench) noModel(t *testing.T) {
	columns := []string{
		"Inferences/Second", "Client Send", "Network+Server Send/Recv", "Server Queue", "Server Compute Input",
		"Server Compute Output", "Server Compute Infer", "Client Recv", "p50 latency", "p90 latency", "p95 latency", "p99 latency",
	}
	run := func(t *testing.T, name, bin, line string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var code int
			var out string
			for range 3 {
				if code, out = b.runFor(t, bin, dir, line+steady()+" -f h.csv", 10*time.Minute); !unlucky(code) {
					break
				}
				t.Logf("once more: %s\n%s", line, passes(out))
			}
			if code != 0 {
				t.Fatalf("H1: exit code %d\n%s", code, out)
			}
			rows := readCSV(t, filepath.Join(dir, "h.csv"))
			row := map[string]string{}
			for i, name := range rows[0] {
				row[name] = rows[1][i]
			}
			for _, name := range columns {
				v, err := strconv.ParseFloat(row[name], 64)
				if always := name == "Inferences/Second" || name[0] == 'p'; err != nil || v < 0 || always && v == 0 {
					t.Errorf("H2: column %s: %q", name, row[name])
				}
			}
		})
	}
	each := func(t *testing.T, name, bin, target, model string) {
		t.Helper()
		for _, shared := range b.shared {
			for _, threads := range []string{"1", "16"} {
				for _, elements := range []string{"1", "4194304"} {
					run(t, strings.Join([]string{name, shared, threads, elements}, "_"), bin, target+" -m "+model+" -p{10000} --percentile=95 --shared-memory "+shared+
						" --output-shared-memory-size 16777216 -b1 -t"+threads+" --shape INPUT0:"+elements)
				}
			}
		}
	}
	bin := filepath.Join(b.bin, "perf_analyzer")
	each(t, "grpc", bin, "-i grpc -u {grpc}", "identity_fp32")
	each(t, "http", bin, "-i http -u {http}", "identity_fp32")
	t.Run("in process", func(t *testing.T) {
		const model = "same_float32"
		launcher, home := native.Launcher(t, b.peers, b.bin)
		models := t.TempDir()
		copyModel(t, model, models)
		each(t, "api", launcher, "--service-kind triton_c_api --triton-server-directory "+home+" --model-repository "+models, model)
	})
}

// steady asks for windows within 15 % of each other in 50 trials, as the table does. Where others compete for the cores now,
// they may differ more, and a run is not held up by that: the next try asks again.
func steady() string {
	if !heavy {
		return " -s 9999 --max-trials 50"
	}
	others, trials := rivals(), 50
	if others > 1 {
		trials = 10
	}
	return fmt.Sprintf(" -s%.1f --max-trials %d", 15*others, trials)
}

// rivals is how many threads of others want each core now, at least 1.
func rivals() float64 { return crowded(func() { time.Sleep(500 * time.Millisecond) }) }

var passLine = regexp.MustCompile(`  Pass \[\d+\] throughput: (\S+) infer/sec\. Avg latency: (\d+) usec`)

// ranks is C18 and C19: three ranks of an MPI job measure three models together.
func (b *bench) ranks(t *testing.T) {
	mpi, err := exec.LookPath("mpiexec")
	if err != nil {
		t.Skip("**** MPI IS NOT TESTED: no mpiexec ****")
	}
	native := filepath.Join(b.bin, "redline-native")
	if _, err := os.Stat(native); err != nil {
		t.Skip("**** MPI IS NOT TESTED: no redline-native: set REDLINE_BIN_DIR to the folder that `make build` fills ****")
	}
	dir := t.TempDir()
	if err := os.Symlink(native, filepath.Join(dir, "perf_analyzer")); err != nil {
		t.Fatal(err)
	}
	args := []string{"--allow-run-as-root", "--oversubscribe", "--output-filename", filepath.Join(dir, "out")}
	for i, model := range []string{"graphdef_int32_int32_int32", "graphdef_nobatch_int32_int32_int32", "custom_zero_1_float32"} {
		if i > 0 {
			args = append(args, ":")
		}
		args = append(args, "-n", "1", filepath.Join(dir, "perf_analyzer"), "-v", "-u", b.triton.HTTP, "-m", model,
			"--measurement-mode", "count_windows", "-s", "50", "--enable-mpi", "--shape", "INPUT0:4", "--max-trials", "50")
	}
	var out []byte
	for range 3 {
		cmd := exec.CommandContext(t.Context(), mpi, args...)
		cmd.Dir = dir
		if out, err = cmd.CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("C18: %v\n%s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "out", "*", "*", "stdout"))
	if err != nil || len(logs) != 3 {
		t.Fatalf("outputs of the ranks: %v %v", logs, err)
	}
	var first, last time.Time
	for _, name := range logs {
		about, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := about.ModTime(); first.IsZero() || at.Before(first) {
			first = at
		}
		if at := about.ModTime(); at.After(last) {
			last = at
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "All models on all MPI ranks are stable") {
			t.Errorf("C18: %s: %v\n%s", name, err, text)
		}
		passes := passLine.FindAllStringSubmatch(string(text), -1)
		if len(passes) < 3 {
			t.Fatalf("C19: %d passes in %s", len(passes), name)
		}
		for column := 1; column <= 2; column++ {
			var values []float64
			mean := 0.0
			for _, p := range passes[len(passes)-3:] {
				v, _ := strconv.ParseFloat(p[column], 64)
				values, mean = append(values, v), mean+v/3
			}
			for _, v := range values {
				if math.Abs(v/mean-1) > 0.5 {
					t.Errorf("C19: %v differ by more than half", values)
				}
			}
		}
	}
	if apart := last.Sub(first); apart > 5*time.Second {
		t.Errorf("C18: the ranks ended %v apart", apart)
	}
}
