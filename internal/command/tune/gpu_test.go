package tune

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

const (
	tritonPage = `nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_power_usage{gpu_uuid="GPU-1"} 250
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 2e9
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8e9
`
	dcgmPage = `DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-2"} 80
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-2"} 300
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-2"} 1000
`
)

func servePage(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// readGPU reads pages around a load that takes no time, and returns the warnings.
func readGPU(t *testing.T, pl *plan.Plan, pages ...string) (*result.GPU, string) {
	t.Helper()
	var warnings bytes.Buffer
	s := &session{IO: &command.IO{Stderr: &warnings}}
	for range 2 { // a warning comes once
		gpu := s.pollGPU(t.Context(), gpuPages(pl, plan.Outcome{ServerMetrics: pages}))()
		if warnings.Len() == 0 {
			return gpu, ""
		}
		if gpu != nil {
			t.Errorf("figures with a warning: %+v", gpu)
		}
	}
	return nil, warnings.String()
}

// Memory and power come from Triton's page, from that of a DCGM exporter, and from both together.
func TestGPUOfACandidate(t *testing.T) {
	triton, dcgm := servePage(t, http.StatusOK, tritonPage), servePage(t, http.StatusOK, dcgmPage)
	pl := plan.Default()
	pl.Target.Metrics = plan.Metrics{Collect: true, URL: triton, Interval: time.Second}
	gpu, warned := readGPU(t, &pl, strings.TrimPrefix(dcgm, "http://"))
	want := &result.GPU{
		Utilization: map[string]float64{"GPU-1": 0.5, "GPU-2": 0.8}, PowerWatts: map[string]float64{"GPU-1": 250, "GPU-2": 300},
		MemoryUsed: map[string]uint64{"GPU-1": 2e9, "GPU-2": 1000 << 20}, MemoryTotal: map[string]uint64{"GPU-1": 8e9},
	}
	if diff := cmp.Diff(want, gpu); diff != "" || warned != "" {
		t.Errorf("want, got:\n%s\n%s", diff, warned)
	}
	if gpu, warned := readGPU(t, nil); gpu != nil || warned != "" {
		t.Errorf("without a page: %+v, %s", gpu, warned)
	}
}

// A page that cannot be read, or has no GPU, is one warning, and the search goes on without these figures.
func TestNoGPU(t *testing.T) {
	for page, want := range map[string]string{
		servePage(t, http.StatusNotFound, ""):                            "404",
		servePage(t, http.StatusOK, "nv_inference_count{model=\"m\"} 7"): "has no metrics of GPUs",
	} {
		_, warned := readGPU(t, nil, page)
		if strings.Count(warned, "warning: candidates lack GPU memory and power") != 1 || !strings.Contains(warned, want) {
			t.Errorf("warnings %q, not one with %q", warned, want)
		}
	}
}
