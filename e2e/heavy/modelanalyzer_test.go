package heavy_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// settings are a configuration of Model Analyzer, in which only the last level is YAML.
type settings map[string]string

// A maCase is one run of `model-analyzer profile`.
type maCase struct {
	name    string
	remote  bool
	models  string
	search  settings
	flags   string // more options of perf_analyzer, as YAML
	measure string // the column of the load
	least   int    // measurements
}

var (
	// The smallest searches that still compare configurations.
	brute = settings{
		"run_config_search_mode": "brute", "run_config_search_max_concurrency": "2", "run_config_search_max_instance_count": "1",
		"run_config_search_min_model_batch_size": "2", "run_config_search_max_model_batch_size": "2",
	}
	quick = settings{
		"run_config_search_mode": "quick", "run_config_search_max_concurrency": "2", "run_config_search_max_instance_count": "2",
		"run_config_search_max_model_batch_size": "2",
	}
	optuna      = with(quick, settings{"run_config_search_mode": "optuna", "optuna_min_trials": "2", "optuna_max_trials": "3"})
	oneInstance = settings{"run_config_search_max_instance_count": "1"}
	rates       = settings{"request_rate_search_enable": "true", "run_config_search_min_request_rate": "32", "run_config_search_max_request_rate": "64"}
)

func with(all ...settings) settings {
	s := settings{}
	for _, one := range all {
		maps.Copy(s, one)
	}
	if s["request_rate_search_enable"] != "" {
		delete(s, "run_config_search_max_concurrency") // it refuses both
	}
	return s
}

var maCases = []maCase{
	{name: "local brute", models: "simple", search: brute, measure: "Concurrency", least: 4},
	{name: "local quick", models: "simple", search: quick, measure: "Concurrency", least: 3},
	{name: "local optuna", models: "simple", search: optuna, measure: "Concurrency", least: 3},
	{name: "remote brute", remote: true, models: "simple", search: brute, measure: "Concurrency", least: 4},
	{name: "remote quick", remote: true, models: "simple", search: with(quick, oneInstance), measure: "Concurrency", least: 3},
	{name: "remote optuna", remote: true, models: "simple", search: with(optuna, oneInstance), measure: "Concurrency", least: 2},
	{name: "remote HTTP, no search", remote: true, models: "simple", search: settings{
		"client_protocol": "http", "run_config_search_disable": "true", "concurrency": "[1, 2]", "batch_sizes": "[1, 4]",
	}, measure: "Concurrency", least: 4},
	{name: "ensemble", models: "chain", search: with(quick, oneInstance, settings{
		"cpu_only_composing_models": "[identity_fp32, identity_second]",
	}), flags: ", shape: 'INPUT0:16'", measure: "Concurrency", least: 3},
	{name: "rate brute", models: "simple", search: with(brute, rates), measure: "Request Rate", least: 4},
	// Its quick search knows of concurrency only; optuna may draw a configuration twice.
	{name: "rate optuna", models: "simple", search: with(optuna, oneInstance, rates), measure: "Request Rate", least: 2},
	{name: "two models at once", models: "simple types", search: with(quick, oneInstance, settings{
		"run_config_profile_models_concurrently_enable": "true",
	}), measure: "Concurrency", least: 2},
}

func TestModelAnalyzer(t *testing.T) {
	outcome.HeavyOnly(t, "Model Analyzer starts the real Triton and perf_analyzer many times: a case takes a minute or more")
	analyzer := install(t, "model-analyzer", peers.ModelAnalyzer)
	server, _ := newTriton(t)
	for _, c := range maCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			analyzer := *analyzer
			if strings.Contains(c.models, " ") { // it runs one perf_analyzer for each model under mpiexec
				mpi, err := peers.InstallMPI(t.Context())
				if err != nil {
					outcome.NotTested(t, "Model Analyzer with two models at once", err, "Open MPI")
				}
				analyzer.env = slices.Concat(analyzer.env, []string{"PATH=" + filepath.Dir(mpi) + ":" + analyzer.search})
			}
			mode, at := "local", freePorts(t)
			if c.remote {
				mode, at = "remote", server.start(t)
			}
			analyze(t, &analyzer, server, c, settings{
				"triton_launch_mode": mode, "triton_server_path": server.launcher,
				"triton_http_endpoint": fmt.Sprint("localhost:", at.http), "triton_grpc_endpoint": fmt.Sprint("localhost:", at.grpc),
				"triton_metrics_url": fmt.Sprintf("http://localhost:%d/metrics", at.metrics),
			})
		})
	}
}

// analyze runs one case and looks at its results and reports. After a crash of Triton in the process of perf_analyzer it runs the case again.
func analyze(t *testing.T, analyzer *program, server *triton, c maCase, place settings) {
	t.Helper()
	var dir, out, failures string
	peers.RepeatCrashed(t, func() string {
		dir = t.TempDir()
		out = profileInto(t, dir, analyzer, server, c, place)
		text, err := os.ReadFile(filepath.Join(dir, "perf_analyzer_error.log"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		failures = string(text)
		return failures
	})
	for _, bad := range []string{"perf_analyzer did not produce any output", "Perf Analyzer Error", "no valid requests recorded", "ERROR"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%s\nperf_analyzer_error.log:\n%s", bad, last(out, 60), last(failures, 60))
		}
	}
	rows := checkResults(t, filepath.Join(dir, "results", "metrics-model-inference.csv"), c)
	checkReports(t, dir, c, rows)
}

// profileInto runs one case in an empty folder and returns what Model Analyzer printed.
func profileInto(t *testing.T, dir string, analyzer *program, server *triton, c maCase, place settings) string {
	t.Helper()
	fields := append([]string{
		"model_name", "batch_size", strings.ReplaceAll(strings.ToLower(c.measure), " ", "_"), "model_config_path", "instance_group",
		"max_batch_size", "satisfies_constraints",
	}, slices.Sorted(maps.Keys(measured))...)
	all := with(c.search, place, settings{
		"model_repository": server.models, "checkpoint_directory": filepath.Join(dir, "checkpoints"),
		"output_model_repository_path": filepath.Join(dir, "variants"), "export_path": dir,
		"inference_output_fields": "[" + strings.Join(fields, ", ") + "]",
		"monitoring_interval":     "0.2", "duration_seconds": "1", "perf_output": "true",
		"perf_analyzer_flags": "{measurement-request-count: 20, stability-percentage: 900" + c.flags + "}",
		"profile_models":      "{" + strings.Join(strings.Fields(c.models), ": {cpu_only: true}, ") + ": {cpu_only: true}}",
	})
	if place["triton_launch_mode"] == "local" {
		all["triton_output_path"] = filepath.Join(dir, "triton.log")
	}
	write(t, filepath.Join(dir, "config.yaml"), yaml(all))
	return analyzer.run(t, dir, "profile", "-f", "config.yaml")
}

// measured are the fields of Model Analyzer's table that come out of perf_analyzer's, and their columns.
var measured = settings{
	"perf_throughput": "Throughput (infer/sec)", "perf_latency_avg": "Avg Latency (ms)", "perf_latency_p90": "p90 Latency (ms)",
	"perf_latency_p95": "p95 Latency (ms)", "perf_latency_p99": "p99 Latency (ms)", "perf_client_response_wait": "Response Wait Time (ms)",
	"perf_client_send_recv": "Client Send/Recv (ms)", "perf_server_queue": "Server Queue time (ms)", "perf_server_compute_infer": "Server Compute Infer time (ms)",
	"perf_server_compute_input": "Server Compute Input time (ms)", "perf_server_compute_output": "Server Compute Output time (ms)",
}

// checkResults reads the table of measurements: each is there with all its columns. It returns them by column.
func checkResults(t *testing.T, path string, c maCase) []settings {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 1+c.least {
		t.Fatalf("%d rows in the results, not %d: %v %q", len(rows)-1, c.least, err, rows)
	}
	var list []settings
	for _, row := range rows[1:] {
		m := settings{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		list = append(list, m)
		for _, name := range append(slices.Sorted(maps.Values(measured)), "Batch", c.measure) {
			// The parts of a latency are rounded to a tenth of a millisecond: of a fast model nothing may be left.
			part := strings.HasPrefix(name, "Server ") || strings.HasPrefix(name, "Client ") || name == "Response Wait Time (ms)"
			cell, _, _ := strings.Cut(m[name], ",") // the first of several models, or their sum
			if v, err := strconv.ParseFloat(cell, 64); err != nil || v < 0 || v == 0 && !part {
				t.Errorf("%s of %q: %q", name, m["Model Config Path"], m[name])
			}
		}
	}
	return list
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	number = regexp.MustCompile(`\d+\.\d+|\d+`)
	counts = regexp.MustCompile(`In (\d+) measurements? across (\d+) configurations?`)
)

// checkReports searches for the files of the reports, and in them for what the table of measurements has.
func checkReports(t *testing.T, dir string, c maCase, rows []settings) {
	t.Helper()
	configs := map[string]bool{}
	for _, m := range rows {
		configs[m["Model Config Path"]] = true
	}
	patterns := map[string]int{"reports/summaries/*/result_summary.html": 1, "plots/simple/*/*.png": 2, "checkpoints/*.ckpt": 1}
	if !strings.Contains(c.models, " ") { // there are no details of models together
		patterns["reports/detailed/*/detailed_report.html"] = min(3, len(configs))
		patterns["plots/detailed/*/latency_breakdown.png"] = min(3, len(configs))
	}
	for pattern, least := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) < least {
			t.Errorf("%s: %q, not %d", pattern, files, least)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil || len(data) < 1000 {
				t.Errorf("%s: %v, %d bytes", name, err, len(data))
			}
			text := string(data)
			switch filepath.Base(name) {
			case "result_summary.html":
				text = tags.ReplaceAllString(text, " ")
				if m := counts.FindStringSubmatch(text); m == nil || m[1] != strconv.Itoa(len(rows)) || m[2] != strconv.Itoa(len(configs)) {
					t.Errorf("%s: %q, not %d and %d", name, m, len(rows), len(configs))
				}
			case "detailed_report.html":
				checkDetails(t, text, filepath.Base(filepath.Dir(name)), rows)
			}
		}
	}
}

// checkDetails searches for every measurement of a configuration in its report, which has more digits.
func checkDetails(t *testing.T, text, config string, rows []settings) {
	t.Helper()
	values := map[string]bool{}
	for _, n := range number.FindAllString(tags.ReplaceAllString(text, " "), -1) {
		v, _ := strconv.ParseFloat(n, 64)
		values[strconv.FormatFloat(v, 'f', 1, 64)] = true
	}
	for _, m := range rows {
		for _, name := range []string{"Throughput (infer/sec)", "p99 Latency (ms)"} {
			if m["Model Config Path"] == config && !values[m[name]] {
				t.Errorf("report of %s: no %s %s", config, name, m[name])
			}
		}
	}
}

// yaml writes settings in order of their names.
func yaml(s settings) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s: %s\n", name, s[name])
	}
	return b.String()
}

// In its C API mode, Model Analyzer has perf_analyzer run the server itself: that is redline-native, where it is built.
func TestModelAnalyzerInProcess(t *testing.T) {
	outcome.HeavyOnly(t, "Model Analyzer starts the real Triton and perf_analyzer many times: a case takes a minute or more")
	analyzer := install(t, "model-analyzer", peers.ModelAnalyzer)
	server, peer := newTriton(t)
	native, home := inProcess(t, peer)
	analyze(t, analyzer, server, maCase{models: "simple", search: brute, measure: "Concurrency", least: 4}, settings{
		"triton_launch_mode": "c_api", "triton_install_path": home, "perf_analyzer_path": native,
	})
}
