package scrape_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scrape"
)

func page(t *testing.T, text string) *scrape.Page {
	t.Helper()
	p, err := scrape.Parse(text, scrape.IsGPUMetric)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGPU(t *testing.T) {
	a := page(t, `
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="A"} 0.2
nv_gpu_utilization{gpu_uuid="B",host="h"} 1
nv_gpu_power_usage{gpu_uuid="A"} 100
nv_gpu_memory_used_bytes{gpu_uuid="A"} 1.5e+10
nv_gpu_memory_total_bytes{gpu_uuid="A"} 150754820096
nv_inference_count{model="m"} 7
`)
	b := page(t, `
nv_gpu_utilization{gpu_uuid="A"} 0.6
nv_gpu_utilization{gpu_uuid="B"} NaN
nv_gpu_utilization 0.9
nv_gpu_power_usage{gpu_uuid="A"} 101
nv_gpu_memory_used_bytes{gpu_uuid="A"} 1e10
nv_gpu_memory_total_bytes{gpu_uuid="A"} 1
`)
	c := page(t, `
nv_gpu_utilization{gpu_uuid="A"} 0.7
nv_gpu_memory_used_bytes{gpu_uuid="B"} -4
`)
	got := scrape.GPU(
		scrape.Window{Pages: []*scrape.Page{a, b}},
		scrape.Window{Pages: []*scrape.Page{c}, Before: b},
		scrape.Window{},
	)
	want := &result.GPU{
		Utilization: map[string]float64{"A": 0.5, "B": 1},
		PowerWatts:  map[string]float64{"A": 100.5},
		MemoryUsed:  map[string]uint64{"A": 15000000000, "B": 0},
		MemoryTotal: map[string]uint64{"A": 150754820096},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
}

// The DCGM exporter has other names, units and labels for the same quantities.
func TestGPUOfDCGM(t *testing.T) {
	p, err := scrape.Parse(`
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",modelName="H200"} 80
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1"} 312.5
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-1"} 1000
DCGM_FI_DEV_FB_TOTAL{gpu="0",UUID="GPU-1"} 143771
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 41
`, scrape.IsDCGMMetric)
	if err != nil {
		t.Fatal(err)
	}
	want := &result.GPU{
		Utilization: map[string]float64{"GPU-1": 0.8}, PowerWatts: map[string]float64{"GPU-1": 312.5},
		MemoryUsed: map[string]uint64{"GPU-1": 1000 << 20}, MemoryTotal: map[string]uint64{"GPU-1": 143771 << 20},
	}
	if diff := cmp.Diff(scrape.GPU(scrape.Window{Pages: []*scrape.Page{p}}), want); diff != "" {
		t.Errorf("got, want:\n%s", diff)
	}
}

func TestGPUOfAWindowShorterThanTheInterval(t *testing.T) {
	before := page(t, `nv_gpu_power_usage{gpu_uuid="A"} 70`)
	if got := scrape.GPU(scrape.Window{Before: before}).PowerWatts["A"]; got != 70 {
		t.Errorf("power %v, want that of the page before, 70", got)
	}
}

func TestGPUWithoutPages(t *testing.T) {
	got := scrape.GPU()
	if got.Utilization == nil || got.PowerWatts == nil || got.MemoryUsed == nil || got.MemoryTotal == nil {
		t.Errorf("nil map in %+v", got)
	}
}
