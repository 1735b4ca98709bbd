package tune_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// law is a model whose best configuration is known, and the space of Model Analyzer that holds the same candidates.
type law struct {
	model, rule, vary, knob string
	best                    float64
	instances, batches      int // the largest ones
	limit                   int // of the latency in milliseconds
	arrivals                string
}

// Arrivals with constant gaps make the laws of instances sharp, so that short probes decide. Arrivals in bursts fill the large batches, which
// are slower.
var laws = []law{
	{"law_instances", "avg<120ms", "instances=1..4", "instances", 4, 4, 1, 120, "constant"},
	{"law_crowded", "avg<120ms", "instances=1..4", "instances", 2, 4, 1, 120, "constant"},
	{"law_batches", "avg<160ms", "max_batch=1,2,4..32", "max_batch", 8, 1, 32, 160, "poisson"},
}

// options are those of a search for the best configuration.
func (l law) options(s *peers.Triton, more ...string) []string {
	return append([]string{
		"-m", l.model, "-u", s.HTTP, "--slo", l.rule, "--vary", l.vary, "--request-distribution", l.arrivals,
		"--probe", "700ms", "--confirm", "5s", "--resolution", "10",
	}, more...)
}

// startTriton starts a real Triton in explicit mode with a model of known law.
func startTriton(t *testing.T, model string) *peers.Triton {
	t.Helper()
	installed, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "redline tune on a real Triton", err, "python3 with venv")
	}
	s, err := installed.StartTritonWith(t.Context(), t.TempDir(), []string{filepath.Join(binary.Root(), "e2e", "tune", "models")},
		"--model-control-mode=explicit", "--load-model="+model)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// On a real Triton the true best is found in at least 9 of 10 seeds, and the server has its own configuration after each search. The
// models only wait, so that the three laws are searched at the same time, each on a server of its own, beside the comparison with Model Analyzer.
func TestTimedFindsTheBestOnTriton(t *testing.T) {
	outcome.HeavyOnly(t, "redline tune with ten seeds on a real Triton, twelve minutes")
	t.Parallel()
	for _, l := range laws {
		t.Run(l.model, func(t *testing.T) {
			t.Parallel()
			s := startTriton(t, l.model)
			disturbance.Try(t, func() error {
				before, right := config(t, s.HTTP, l.model), 0
				var loads []int
				for seed := range 10 {
					res, err := newClient(t).run(l.options(s, "--seed", strconv.Itoa(seed))...)
					if err == nil && res.Tune.Best != nil && res.Tune.Best.Knobs[l.knob] == l.best {
						right++
					}
					if res != nil {
						loads = append(loads, res.Tune.Probes)
					}
					if now := config(t, s.HTTP, l.model); now != before {
						t.Errorf("the server has\n%s\nand had\n%s", now, before)
					}
					if wrong := seed + 1 - right; wrong > 1 {
						return fmt.Errorf("the best was not found with %d of %d seeds", wrong, seed+1)
					}
				}
				t.Logf("the best was found with %d of 10 seeds, with %v loads", right, loads)
				return nil
			})
		})
	}
}

// A real Triton has its own configuration after every kind of end.
func TestRestoresTriton(t *testing.T) {
	outcome.HeavyOnly(t, "ends of redline tune on a real Triton, two minutes")
	s := startTriton(t, "law_instances")
	t.Run("interrupt", func(t *testing.T) { interrupt(t, s.HTTP) })
	t.Run("two interrupts", func(t *testing.T) { interruptTwice(t, s.HTTP) })
	t.Run("kill", func(t *testing.T) { killed(t, s.HTTP) })
}

// A candidate whose instances crash on a real Triton is a result with its reason, and the search goes on. The server has its own
// configuration afterwards, and answers.
func TestACandidateCrashesOnTriton(t *testing.T) {
	outcome.HeavyOnly(t, "a candidate that crashes on a real Triton, a minute")
	s := startTriton(t, "law_crash")
	own := config(t, s.HTTP, "law_crash")
	res, _ := newClient(t).run(with("-m", "law_crash", "-u", s.HTTP, "--slo", "avg<120ms", "--vary", "instances=1,2", "--ready-timeout", "10s")...)
	if res == nil {
		t.Fatal("no result")
	}
	if r := reasons(res); r[1] != "" || r[2] == "" {
		t.Errorf("reasons %v", r)
	}
	if now := config(t, s.HTTP, "law_crash"); now != own {
		t.Errorf("the server has\n%s\nand had\n%s", now, own)
	}
	ask(t, http.MethodPost, "http://"+s.HTTP+"/v2/models/law_crash/infer", `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}`)
}

// The config.pbtxt of the best candidate is complete: a real Triton loads the model with it, and has the best candidate then.
func TestBestConfigLoadsOnTriton(t *testing.T) {
	outcome.HeavyOnly(t, "redline tune on a real Triton, a minute")
	s := startTriton(t, "law_batches")
	file := filepath.Join(t.TempDir(), "config.pbtxt")
	res, err := newClient(t).run("-m", "law_batches", "-u", s.HTTP, "--slo", "avg<160ms", "--vary", "max_batch=4,8", "--vary", "instances=1,2",
		"--probe", "500ms", "--confirm", "5s", "--resolution", "10", "--budget", "1m", "--best-config", file)
	if res == nil || res.Tune.Best == nil { // on a busy machine the best may not be confirmed
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "models", "law_batches", "config.pbtxt"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, s.HTTP, "law_batches", "")
	got := config(t, s.HTTP, "law_batches")
	for knob, field := range map[string]string{"max_batch": "max_batch_size", "instances": "count"} {
		if want := fmt.Sprintf("%q:%v", field, res.Tune.Best.Knobs[knob]); !strings.Contains(got, want) {
			t.Errorf("the server has no %s:\n%s\nconfig.pbtxt:\n%s", want, got, text)
		}
	}
}

// Model Analyzer beside it: its brute search needs at least twice as many measurements, and the answer of its quick search is not
// better. The columns of the tables have the same names.
func TestTimedAgainstModelAnalyzer(t *testing.T) {
	outcome.HeavyOnly(t, "Model Analyzer's brute and quick search beside redline tune, about ten minutes")
	t.Parallel()
	dir, err := peers.InstallList(t.Context(), peers.ModelAnalyzer)
	if err != nil {
		outcome.NotTested(t, "redline tune beside Model Analyzer", err, "python3 with venv")
	}
	for _, l := range laws {
		t.Run(l.model, func(t *testing.T) {
			t.Parallel()
			s := startTriton(t, l.model)
			disturbance.Try(t, func() error { return beside(t, filepath.Join(dir, "bin"), s, l) })
		})
	}
}

// beside runs redline tune and both searches of Model Analyzer, and compares them. Capacities are searched to 10 %; Model Analyzer doubles
// the concurrency.
func beside(t *testing.T, programs string, s *peers.Triton, l law) error {
	file := filepath.Join(t.TempDir(), "candidates.csv")
	res, err := newClient(t).run(l.options(s, "--csv", file)...)
	if err != nil {
		return err
	}
	brute, columns := analyze(t, programs, s, l, "brute")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ours, _, _ := strings.Cut(string(text), "\n")
	if ours = strings.Replace(ours, "Request Rate", "Concurrency", 1); !strings.HasPrefix(ours, strings.Join(columns, ",")+",") {
		t.Errorf("the columns of --csv are %s\nand those of Model Analyzer %v", ours, columns)
	}
	best := 0.0
	quick, _ := analyze(t, programs, s, l, "quick")
	for _, m := range quick {
		if m.latency <= float64(l.limit) {
			best = max(best, m.throughput)
		}
	}
	found := res.Tune.Best.Inferences
	t.Logf("redline tune: %.1f inferences/s with %d measurements; Model Analyzer's brute search has %d, its quick search %.1f inferences/s with %d", found, res.Tune.Probes, len(brute), best, len(quick))
	switch {
	case 2*res.Tune.Probes > len(brute):
		return fmt.Errorf("%d measurements, more than half of %d", res.Tune.Probes, len(brute))
	case res.Tune.Best.Knobs[l.knob] != l.best && found < 0.95*best: // by the law, no configuration is better than the best
		return fmt.Errorf("redline tune found %v with %.1f inferences/s, Model Analyzer's quick search %.1f", res.Tune.Best.Knobs, found, best)
	}
	return nil
}

// measurement is one row of Model Analyzer's table.
type measurement struct{ throughput, latency float64 }

// analyzeTime limits the searches of Model Analyzer. On an idle machine its brute search takes four minutes, beside other tests up to ten; only a
// hang exceeds its limit. Its quick search takes two minutes; that of law_batches never ends, because after some measurements it looks for the
// next one in an endless loop.
var analyzeTime = map[string]time.Duration{"brute": 25 * time.Minute, "quick": 3 * time.Minute}

// analyze runs a search of Model Analyzer, with Redline as its perf_analyzer, on a server that runs. It returns the measurements and the
// names of the columns of its table.
func analyze(t *testing.T, programs string, s *peers.Triton, l law, mode string) (list []measurement, columns []string) {
	t.Helper()
	dir := t.TempDir()
	settings := map[string]string{
		"run_config_search_mode": mode, "run_config_search_max_instance_count": strconv.Itoa(l.instances),
		"run_config_search_max_model_batch_size": strconv.Itoa(l.batches), "run_config_search_max_concurrency": "64",
		"triton_launch_mode": "remote", "triton_http_endpoint": s.HTTP, "triton_grpc_endpoint": s.GRPC, "client_protocol": "http",
		"triton_metrics_url": "http://" + s.Metrics + "/metrics", "model_repository": filepath.Join(s.Dir, "models"),
		"checkpoint_directory": filepath.Join(dir, "checkpoints"), "output_model_repository_path": filepath.Join(dir, "variants"), "export_path": dir,
		"inference_output_fields": "[model_name, batch_size, concurrency, model_config_path, instance_group, max_batch_size, satisfies_constraints, " +
			"perf_throughput, perf_latency_avg, perf_latency_p90, perf_latency_p95, perf_latency_p99, perf_server_queue, perf_server_compute_input, " +
			"perf_server_compute_infer, perf_server_compute_output]",
		"constraints":         fmt.Sprintf("{perf_latency_avg: {max: %d}}", l.limit),
		"perf_analyzer_flags": "{measurement-request-count: 50, stability-percentage: 50}",
		"profile_models":      "{" + l.model + ": {cpu_only: true}}",
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s: %s\n", name, value)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), analyzeTime[mode])
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "model-analyzer"), "profile", "-f", "config.yaml")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+programs+":"+os.Getenv("PATH"), "COLUMNS=200")
	began := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("Model Analyzer's %s search took %v, with %v of CPU time", mode, time.Since(began).Round(time.Second), (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(time.Second))
	switch crashed := bytes.Contains(out, []byte("OverflowError")); {
	case err != nil && mode == "quick" && (crashed || ctx.Err() != nil):
		t.Logf("Model Analyzer's quick search has no answer: crashed (the number of a dimension overflowed) %v, did not end within %v %v", crashed, analyzeTime[mode], !crashed)
		return nil, nil
	case err != nil:
		t.Fatalf("model-analyzer: %v\n%s", err, out)
	}
	file, err := os.Open(filepath.Join(dir, "results", "metrics-model-inference.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	for _, row := range rows[1:] {
		var m measurement
		for i, head := range rows[0] {
			v, _ := strconv.ParseFloat(row[i], 64) // other columns are text
			switch head {
			case "Throughput (infer/sec)":
				m.throughput = v
			case "Avg Latency (ms)":
				m.latency = v
			}
		}
		list = append(list, m)
	}
	return list, rows[0]
}
