package telemetry

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// prometheus is a running Prometheus.
type prometheus struct{ url string }

// startPrometheus starts Prometheus with the receiver of remote write, and with native histograms if they are wanted: by default they are
// off. It scrapes the targets twice a second.
func startPrometheus(t *testing.T, native bool, targets ...string) *prometheus {
	t.Helper()
	program, err := peers.InstallPrometheus(t.Context())
	if err != nil {
		outcome.NotTested(t, "a real Prometheus", err, "apt, or the program prometheus")
	}
	free, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\nscrape_configs:\n- job_name: all\n  static_configs: [{targets: [" + strings.Join(targets, ",") + "]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &prometheus{fmt.Sprint("http://127.0.0.1:", free[0])}
	cmd := exec.CommandContext(t.Context(), program, "--config.file", "prometheus.yml", "--storage.tsdb.path", "data", "--web.listen-address", strings.TrimPrefix(p.url, "http://"),
		"--web.enable-remote-write-receiver", "--log.level=error")
	if native {
		cmd.Args = append(cmd.Args, "--enable-feature=native-histograms")
	}
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p.await(t, func() bool {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/-/ready", http.NoBody)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// await asks again and again until the answer is yes: Prometheus does not announce that it is ready or has scraped.
func (p *prometheus) await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(testkit.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("Prometheus does not come to it within %v", testkit.Limit)
}

// query returns the values of an expression now.
func (p *prometheus) query(t *testing.T, expr string) []float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/query?query="+url.QueryEscape(expr), http.NoBody)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", expr, err, answer.Error)
	}
	var out []float64
	for _, r := range answer.Data.Result {
		if v, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64); err == nil && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// What a real Prometheus holds after remote write agrees with the result: all series, counts exactly, quantiles within the width of a
// bucket. A Prometheus as it is installed gets classic histograms.
func TestPrometheusAgrees(t *testing.T) {
	s, _ := serve(t)
	quarter, native := math.Exp2(1.0/4)-1, math.Exp2(1.0/(1<<telemetry.Scale))-1
	const latency, bucket = "redline_request_duration_seconds", "redline_request_duration_seconds_bucket"
	f := func(p *prometheus, option string, classic, exponential bool) {
		t.Helper()
		args := []string{"profile", "-m", "simple", "-u", s.HTTP, "--concurrency-range", "4", "--request-count", "2000", "--prometheus-remote-write", p.url + "/api/v1/write"}
		if option != "" {
			args = append(args, "--prometheus-histograms", option)
		}
		res, stderr := run(t, args...)
		if strings.Contains(stderr, "warning") {
			t.Errorf("stderr: %s", stderr)
		}
		of, client := fmt.Sprintf(`{run_id=%q}`, res.RunID), &res.Levels[0].Client
		one := func(expr string, want, share float64) {
			t.Helper()
			if got := p.query(t, expr); len(got) != 1 || math.Abs(got[0]-want) > share*want {
				t.Errorf("%s is %v, the result has %v", expr, got, want)
			}
		}
		one(`redline_requests_total`+of, float64(client.Requests), 0)
		for _, name := range []string{"redline_in_flight", "redline_asked_in_flight", "redline_asked_rate", "redline_client_cpu_cores", "redline_client_gc_pause_max_seconds", "redline_client_scheduler_delay_max_seconds"} {
			one(`count(`+name+of+`)`, 1, 0)
		}
		for _, q := range []float64{50, 90, 99} {
			want := float64(client.Latency.At(q)) / 1e9
			if classic {
				one(fmt.Sprintf(`histogram_quantile(%v, %s%s)`, q/100, bucket, of), want, quarter+0.002)
			}
			if exponential {
				one(fmt.Sprintf(`histogram_quantile(%v, %s%s)`, q/100, latency, of), want, native+0.002)
			}
		}
		if n := len(p.query(t, bucket+of)); n > 0 != classic {
			t.Errorf("%d series of classic buckets", n)
		}
		if classic {
			one(latency+`_count`+of, float64(client.Latency.Count), 0)
			one(latency+`_sum`+of, float64(client.Latency.Avg)*float64(client.Latency.Count)/1e9, 1e-3)
		}
		if exponential {
			one(`histogram_count(`+latency+of+`)`, float64(client.Latency.Count), 0)
		}
	}
	stock, enabled := startPrometheus(t, false), startPrometheus(t, true)
	f(stock, "", true, false)
	f(enabled, "", true, false)
	f(enabled, "native", false, true)
	f(enabled, "both", true, true)
	_, stderr := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--request-count", "100", "--prometheus-remote-write", stock.url+"/api/v1/write", "--prometheus-histograms", "native")
	if !strings.Contains(stderr, "native histograms are disabled there: use --prometheus-histograms classic, or enable them") {
		t.Errorf("stderr: %s", stderr)
	}
}

// Every panel of the dashboard has data when a run is scraped beside a Triton, a vLLM and a DCGM exporter.
func TestDashboardHasData(t *testing.T) {
	t.Run("as installed", func(t *testing.T) { dashboardHasData(t, false) })
	t.Run("native histograms", func(t *testing.T) { dashboardHasData(t, true) })
}

func dashboardHasData(t *testing.T, native bool) {
	t.Helper()
	var page atomic.Int64
	others := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := page.Add(1)
		fmt.Fprintf(w, "vllm:num_requests_waiting{model_name=\"m\"} 2\nvllm:num_requests_running{model_name=\"m\"} 4\nvllm:kv_cache_usage_perc{model_name=\"m\"} 0.4\n"+
			"# TYPE vllm:num_preemptions counter\nvllm:num_preemptions_total{model_name=\"m\"} %d\nvllm:request_queue_time_seconds_sum{model_name=\"m\"} %d\nvllm:request_queue_time_seconds_count{model_name=\"m\"} %d\n"+
			"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 70\nDCGM_FI_DEV_FB_USED{gpu=\"0\"} 1000\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 300\n", n, n, 10*n)
	}))
	defer others.Close()
	s := binary.Served(t, bin, "--simulate-gpus", "1")
	free, err := peers.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	own := []string{fmt.Sprint("127.0.0.1:", free[0]), fmt.Sprint("127.0.0.1:", free[1])}
	p := startPrometheus(t, native, strings.TrimPrefix(others.URL, "http://"), s.Metrics, own[0], own[1])
	for i, args := range [][]string{
		{"profile", "-m", "simple", "-u", s.HTTP, "--request-rate-range", "100", "-p", "60000"},
		{"llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--concurrency", "2", "--benchmark-duration", "60", "--output-tokens-mean", "6"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append(args, "--no-history", "--metrics-listen", own[i])...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	text, err := os.ReadFile(filepath.Join(binary.Root(), "deploy", "grafana", "redline.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "5s", "$model", ".*")
	queries := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			expr := fill.Replace(target.Expr)
			t.Log(panel.Title, expr)
			p.await(t, func() bool { return len(p.query(t, expr)) > 0 })
		}
	}
	if queries < 20 {
		t.Errorf("the dashboard has %d queries", queries)
	}
}
