package watch_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/watch"
)

// server answers each read with the next of its pages; the last is repeated. An empty page is a failure.
type server struct {
	mu    sync.Mutex
	pages []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.pages[0]
	if len(s.pages) > 1 {
		s.pages = s.pages[1:]
	}
	if text == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, text)
}

// levels reads the pages one after the other: the first at the start, one more at the end of each level.
func levels(t *testing.T, model string, lv *result.Level, pages ...string) []*result.ServerMetrics {
	t.Helper()
	srv := httptest.NewServer(&server{pages: pages})
	defer srv.Close()
	w, err := watch.Start(t.Context(), []string{strings.TrimPrefix(srv.URL, "http://")}, model)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var out []*result.ServerMetrics
	for range pages[1:] {
		out = append(out, w.Level(t.Context(), lv))
	}
	return out
}

func find(t *testing.T, m *result.ServerMetrics, name string) result.ServerSeries {
	t.Helper()
	for _, s := range m.Series {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no series %s in %+v", name, m.Series)
	return result.ServerSeries{}
}

// Every server's metrics are found under the common names, in the common units.
func TestCommonNames(t *testing.T) {
	f := func(before, after string, want map[string]float64) {
		t.Helper()
		m := levels(t, "", &result.Level{}, before, after)[0]
		for name, v := range want {
			if got := find(t, m, name); !got.Known || math.Abs(got.Avg-v) > 1e-6*math.Abs(v) {
				t.Errorf("%s is %v (known %v), want %v", name, got.Avg, got.Known, v)
			}
		}
	}
	same := func(page string, want map[string]float64) {
		t.Helper()
		f(page, page, want)
	}
	f(`nv_inference_pending_request_count{model="a",version="1"} 3
nv_inference_count{model="a",version="1"} 100
nv_inference_exec_count{model="a",version="1"} 10
nv_inference_queue_duration_us{model="a",version="1"} 0
nv_inference_request_success{model="a",version="1"} 100
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 2e9
nv_gpu_power_usage{gpu_uuid="GPU-1"} 250
`, `nv_inference_pending_request_count{model="a",version="1"} 5
nv_inference_count{model="a",version="1"} 140
nv_inference_exec_count{model="a",version="1"} 20
nv_inference_queue_duration_us{model="a",version="1"} 80000
nv_inference_request_success{model="a",version="1"} 140
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 2e9
nv_gpu_power_usage{gpu_uuid="GPU-1"} 250
`, map[string]float64{"requests_waiting": 4, "batch_size": 4, "queue_time": 2, "gpu_use": 50, "gpu_memory": 2, "gpu_power": 250})
	f(`# TYPE vllm:request_queue_time_seconds histogram
vllm:num_requests_waiting{engine="0"} 1
vllm:num_requests_waiting{engine="1"} 2
vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.4
vllm:prefix_cache_hits_total 10
vllm:prefix_cache_queries_total 100
vllm:request_queue_time_seconds_sum 1
vllm:request_queue_time_seconds_count 10
`, `# TYPE vllm:request_queue_time_seconds histogram
vllm:num_requests_waiting{engine="0"} 1
vllm:num_requests_waiting{engine="1"} 2
vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.4
vllm:prefix_cache_hits_total 60
vllm:prefix_cache_queries_total 200
vllm:request_queue_time_seconds_sum 3
vllm:request_queue_time_seconds_count 110
`, map[string]float64{"requests_waiting": 3, "kv_cache_use": 30, "prefix_cache_hits": 50, "queue_time": 20})
	same("sglang:num_queue_reqs 2\nsglang:num_running_reqs 7\nsglang:token_usage 0.25\nsglang:cache_hit_rate 0.5\n",
		map[string]float64{"requests_waiting": 2, "requests_running": 7, "kv_cache_use": 25, "prefix_cache_hits": 50})
	same("tgi_queue_size 2\ntgi_batch_current_size 8\n", map[string]float64{"requests_waiting": 2, "batch_size": 8})
	same(`nv_trt_llm_request_metrics{model="t",request_type="waiting"} 4
nv_trt_llm_request_metrics{model="t",request_type="scheduled"} 6
nv_trt_llm_kv_cache_block_metrics{model="t",kv_cache_block_type="fraction"} 0.1
nv_inference_pending_request_count{model="t"} 99
`, map[string]float64{"requests_waiting": 4, "requests_running": 6, "kv_cache_use": 10})
	same("trtllm_num_requests_waiting 1\ntrtllm_kv_cache_utilization 0.75\n", map[string]float64{"requests_waiting": 1, "kv_cache_use": 75})
	same(`DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1"} 80
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 1000
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 300
`, map[string]float64{"gpu_use": 80, "gpu_memory": 1.048576, "gpu_power": 300})
}

// Samples of Triton for other models are left out, and metrics without a common name keep their own.
func TestOtherModelsAndOtherNames(t *testing.T) {
	page := `nv_inference_pending_request_count{model="mine"} 2
nv_inference_pending_request_count{model="other"} 50
nv_energy_limit{gpu_uuid="x"} 7
# TYPE lat histogram
lat_bucket{le="1"} 3
lat_sum 4
`
	m := levels(t, "mine", &result.Level{}, page, page)[0]
	if got := find(t, m, "requests_waiting"); got.Avg != 2 {
		t.Errorf("%v requests wait, want 2", got.Avg)
	}
	names := ""
	for _, o := range m.Others {
		names += fmt.Sprintf("%s=%v ", o.Name, o.Avg)
	}
	if names != `lat_sum=0 nv_energy_limit{gpu_uuid="x"}=7 ` {
		t.Errorf("other metrics: %s", names)
	}
}

// A counter that became smaller began again at 0; a restart, a reset and failed reads are told apart and reported.
func TestResetsRestartsAndGaps(t *testing.T) {
	f := func(want string, restarts, resets, failed int, pages ...string) {
		t.Helper()
		all := levels(t, "", &result.Level{}, pages...)
		m := all[len(all)-1]
		if m.Restarts != restarts || m.Resets != resets || m.FailedReads != failed || want != "" && !strings.Contains(strings.Join(m.Notes, "\n"), want) {
			t.Errorf("%d restarts, %d resets, %d failed reads, notes %q; want %d, %d, %d and %q", m.Restarts, m.Resets, m.FailedReads, m.Notes, restarts, resets, failed, want)
		}
		for _, s := range m.Series {
			if s.Avg < 0 {
				t.Errorf("%s is %v", s.Name, s.Avg)
			}
		}
	}
	const counters = "# TYPE a counter\n# TYPE b counter\n# TYPE c counter\n"
	f("restarted", 1, 0, 0, counters+"process_start_time_seconds 100\na 5\nb 7\n", counters+"process_start_time_seconds 200\na 1\nb 1\n")
	f("restarted", 1, 0, 0, counters+"a 5\nb 7\nc 1\n", counters+"a 1\nb 1\nc 2\n")
	f("became smaller", 0, 1, 0, counters+"a 5\nb 7\nc 1\n", counters+"a 1\nb 8\nc 2\n")
	f("1 of 1 reads", 0, 0, 1, "nv_inference_count 5\n", "nv_inference_count 6\n", "")
	f("no metric of", 0, 0, 0, "x 1\n", "x 1\n")
}

// Power divided by throughput is energy.
func TestEnergy(t *testing.T) {
	lv := &result.Level{Client: result.Client{InferPerSec: 100}, Metrics: []result.Metric{{Tag: "output_token_throughput", Avg: 2000}}}
	page := "nv_gpu_power_usage{gpu_uuid=\"a\"} 300\nnv_gpu_power_usage{gpu_uuid=\"b\"} 100\n"
	m := levels(t, "", lv, page, page)[0]
	if m.PowerWatts != 400 || m.JoulesPerInference != 4 || m.JoulesPerToken != 0.2 {
		t.Errorf("%v W, %v J per inference, %v J per token", m.PowerWatts, m.JoulesPerInference, m.JoulesPerToken)
	}
}

// An address that does not answer is an error before the load, without the secret in it.
func TestUnreachable(t *testing.T) {
	_, err := watch.Start(t.Context(), []string{"http://me:s3cret@127.0.0.1:1/metrics"}, "")
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
}
