package watch_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scrape"
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
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text)
}

// levels reads the pages one after the other: the first at the start, one more at the end of each level.
func levels(t *testing.T, model string, lv *result.Level, pages ...string) []*result.ServerMetrics {
	t.Helper()
	srv := httptest.NewServer(&server{pages: pages})
	defer srv.Close()
	w, err := watch.Start(t.Context(), []string{strings.TrimPrefix(srv.URL, "http://")}, watch.Config{Model: model})
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
	// Two processes on one page are no restart; a newer one is.
	f("", 0, 0, 0, "process_start_time_seconds{p=\"a\"} 100\nprocess_start_time_seconds{p=\"b\"} 200\n", "process_start_time_seconds{p=\"a\"} 100\nprocess_start_time_seconds{p=\"b\"} 200\n")
	f("restarted", 1, 0, 0, "process_start_time_seconds{p=\"a\"} 100\nprocess_start_time_seconds{p=\"b\"} 200\n", "process_start_time_seconds{p=\"a\"} 300\nprocess_start_time_seconds{p=\"b\"} 200\n")
}

// A counter that a page lacks once has not begun again at 0 when it returns.
func TestMissingCounters(t *testing.T) {
	const types = "# TYPE a counter\n# TYPE b counter\n"
	f := func(lacking string) {
		t.Helper()
		all := levels(t, "", &result.Level{}, types+"a 1000000\nb 1\n", lacking, types+"a 1000000\nb 1\n")
		m := all[len(all)-1]
		for _, o := range m.Others {
			if o.Avg != 0 || o.Max != 0 {
				t.Errorf("after the page %q %s grew by %v/s", lacking, o.Name, o.Avg)
			}
		}
		if len(m.Others) != 2 || m.Resets != 0 || m.Restarts != 0 {
			t.Errorf("after the page %q: %+v", lacking, m)
		}
	}
	f(types + "b 1\n")
	f(types + "a NaN\nb 1\n")
	f("# nothing\n")
}

// Pages with very many series, with values that are no numbers or are too large to be added, and pages that are too large do not fill
// the memory or spoil the numbers.
func TestHostilePages(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "nv_gpu_power_usage{gpu_uuid=\"%d\"} 1e308\nnv_gpu_utilization{gpu_uuid=\"%d\"} 0.5\nother{n=\"%d\"} 1\n", i, i, i)
	}
	b.WriteString("vllm:num_requests_waiting +Inf\nvllm:num_requests_running -3\n")
	m := levels(t, "", &result.Level{}, b.String(), b.String())[0]
	notes := strings.Join(m.Notes, "\n")
	if len(m.Series) > 500 || len(m.Others) > 400 || !strings.Contains(notes, "more than 500 quantities") || !strings.Contains(notes, "more than 400 metrics") {
		t.Errorf("%d series, %d others, notes %q", len(m.Series), len(m.Others), notes)
	}
	if got := find(t, m, "requests_running"); m.PowerWatts != 0 || got.Avg != -3 || got.Max != -3 {
		t.Errorf("%v W, %+v", m.PowerWatts, got)
	}
	all := levels(t, "", &result.Level{}, "vllm:num_requests_waiting 1\n", strings.Repeat("x 1\n", 5<<20))
	if notes := strings.Join(all[0].Notes, "\n"); all[0].FailedReads == 0 || !strings.Contains(notes, "has more than 16777216 bytes") {
		t.Errorf("notes %q", notes)
	}
}

// An address that is given twice is read once: its power would count twice.
func TestAddressesGivenTwice(t *testing.T) {
	srv := httptest.NewServer(&server{pages: []string{"nv_gpu_power_usage{gpu_uuid=\"a\"} 300\n"}})
	defer srv.Close()
	w, err := watch.Start(t.Context(), []string{srv.URL, srv.URL + "/metrics", strings.TrimPrefix(srv.URL, "http://")}, watch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if m := w.Level(t.Context(), &result.Level{}); m.PowerWatts != 300 || len(m.Series) != 1 {
		t.Errorf("%v W in %d series", m.PowerWatts, len(m.Series))
	}
}

// A read that an interrupt ended is no failure of the server.
func TestInterruptIsNoFailure(t *testing.T) {
	srv := httptest.NewServer(&server{pages: []string{"tgi_queue_size 2\n"}})
	defer srv.Close()
	w, err := watch.Start(t.Context(), []string{srv.URL}, watch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m := w.Level(ctx, &result.Level{}); m.FailedReads != 0 || len(m.Notes) != 0 {
		t.Errorf("notes %q", m.Notes)
	}
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

// The energy counter of a GPU runs since its driver was loaded. If it appears in mid-run, its first value is no energy of the run;
// a counter of the server's own process began at 0.
func TestCountersThatAppear(t *testing.T) {
	const other = "# TYPE made counter\nvllm:num_requests_waiting 1\n"
	with := func(millijoules string) string {
		return other + "# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} " + millijoules + "\nDCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu=\"0\"} 1000\nmade 7\n"
	}
	all := levels(t, "", &result.Level{Client: result.Client{InferPerSec: 1}}, other, with("9000000000"), with("9000000000"), with("9000000001"))
	for i, m := range all {
		if m.PowerWatts > 1000 || i < 2 && m.PowerWatts != 0 || i == 2 && m.PowerWatts <= 0 {
			t.Errorf("level %d: %v W", i, m.PowerWatts)
		}
		for _, o := range m.Others {
			if grows := strings.HasPrefix(o.Name, "made") && i == 0; grows != (o.Avg > 0) {
				t.Errorf("level %d: %s grew by %v/s", i, o.Name, o.Avg)
			}
		}
	}
	if s := find(t, all[1], "gpu_power"); !s.Known || s.Avg != 0 {
		t.Errorf("a counter that stands still is %+v", s)
	}
}

// An address that does not answer is an error before the load, without the secret in it.
func TestUnreachable(t *testing.T) {
	_, err := watch.Start(t.Context(), []string{"http://me:s3cret@127.0.0.1:1/metrics"}, watch.Config{})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error is %v", err)
	}
}

// Files of a level get the pages that the report is made of, each once, with the buckets of histograms.
func TestFollowersGetWholePages(t *testing.T) {
	const page = "# TYPE vllm:e2e histogram\nvllm:e2e_bucket{le=\"1\"} 1\nvllm:e2e_count 1\nvllm:num_requests_waiting 2\n"
	source := &server{pages: []string{page, page, page}}
	srv := httptest.NewServer(source)
	defer srv.Close()
	w, err := watch.Start(t.Context(), []string{srv.URL}, watch.Config{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var pages atomic.Int64
	stop := w.Follow(func(url string, p *scrape.Page) {
		if url != srv.URL+"/metrics" || !p.Has("vllm:e2e_bucket") {
			t.Errorf("%s: %+v", url, p)
		}
		pages.Add(1)
	})
	w.Read(t.Context())
	stop()
	n := pages.Load() // the first page, that of Read, and those that came between
	w.Read(t.Context())
	if n < 2 || pages.Load() != n {
		t.Errorf("%d pages, %d after the end", n, pages.Load()-n)
	}
	if m := w.Level(t.Context(), &result.Level{}); find(t, m, "requests_waiting").Avg != 2 {
		t.Errorf("%+v", m.Series)
	}
}
