package scrape

import (
	"iter"
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// gauge is a quantity of a GPU under the name of Triton's metrics and under that of NVIDIA's DCGM exporter, whose values times scale
// have Triton's unit.
type gauge struct {
	triton, dcgm string
	scale        float64
}

// The gauges. DCGM has utilization in percent, and memory in MiB.
var (
	gpuUtilization = gauge{"nv_gpu_utilization", "DCGM_FI_DEV_GPU_UTIL", 0.01}
	gpuPower       = gauge{"nv_gpu_power_usage", "DCGM_FI_DEV_POWER_USAGE", 1}
	gpuMemoryUsed  = gauge{"nv_gpu_memory_used_bytes", "DCGM_FI_DEV_FB_USED", 1 << 20}
	gpuMemoryTotal = gauge{"nv_gpu_memory_total_bytes", "DCGM_FI_DEV_FB_TOTAL", 1 << 20}
)

// The labels that identify the GPU of a sample, in Triton's metrics and in those of DCGM.
const (
	gpuLabel  = "gpu_uuid"
	dcgmLabel = "UUID"
)

// GPUMetrics names the metrics of Triton that GPU reads, for Config.Expect.
func GPUMetrics() []string {
	return []string{gpuUtilization.triton, gpuPower.triton, gpuMemoryUsed.triton, gpuMemoryTotal.triton}
}

// IsGPUMetric reports whether GPU reads this metric of Triton, for Config.Keep.
func IsGPUMetric(name string) bool { return slices.Contains(GPUMetrics(), name) }

// IsDCGMMetric reports whether GPU reads this metric of the DCGM exporter, for Config.Keep.
func IsDCGMMetric(name string) bool {
	return slices.Contains([]string{gpuUtilization.dcgm, gpuPower.dcgm, gpuMemoryUsed.dcgm, gpuMemoryTotal.dcgm}, name)
}

// GPU merges windows: for each GPU the mean of utilization and power over all pages, the highest memory use and the first
// total memory. A window without pages uses the page before it, so that a polling interval longer than the window still gives
// values. The maps are never nil; values that are not finite are ignored.
func GPU(windows ...Window) *result.GPU {
	gpu := &result.GPU{
		Utilization: map[string]float64{},
		PowerWatts:  map[string]float64{},
		MemoryUsed:  map[string]uint64{},
		MemoryTotal: map[string]uint64{},
	}
	utilization, power := mean{}, mean{}
	for i := range windows {
		pages := windows[i].Pages
		if len(pages) == 0 && windows[i].Before != nil {
			pages = []*Page{windows[i].Before}
		}
		for _, p := range pages {
			utilization.add(p, gpuUtilization)
			power.add(p, gpuPower)
			addMemory(gpu, p)
		}
	}
	utilization.fill(gpu.Utilization)
	power.fill(gpu.PowerWatts)
	return gpu
}

// mean collects the values of each GPU: their sum and their number.
type mean map[string]struct{ sum, n float64 }

func (m mean) add(p *Page, g gauge) {
	for id, v := range p.byGPU(g) {
		s := m[id]
		s.sum, s.n = s.sum+v, s.n+1
		m[id] = s
	}
}

func (m mean) fill(out map[string]float64) {
	for id, s := range m {
		out[id] = s.sum / s.n
	}
}

func addMemory(gpu *result.GPU, p *Page) {
	for id, v := range p.byGPU(gpuMemoryUsed) {
		gpu.MemoryUsed[id] = max(gpu.MemoryUsed[id], count(v))
	}
	for id, v := range p.byGPU(gpuMemoryTotal) {
		if _, seen := gpu.MemoryTotal[id]; !seen {
			gpu.MemoryTotal[id] = count(v)
		}
	}
}

// byGPU yields the finite values of a gauge, in Triton's unit, with the GPU each is for.
func (p *Page) byGPU(g gauge) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for i := range p.Samples {
			s := &p.Samples[i]
			id, v := s.Label(gpuLabel), s.Value
			if s.Name == g.dcgm {
				id, v = s.Label(dcgmLabel), v*g.scale
			}
			if s.Name != g.triton && s.Name != g.dcgm || id == "" || math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			if !yield(id, v) {
				return
			}
		}
	}
}

// count converts a value to a number of bytes, and limits it to the valid range.
func count(v float64) uint64 {
	switch {
	case v <= 0:
		return 0
	case v >= math.MaxUint64:
		return math.MaxUint64
	}
	return uint64(math.Round(v))
}
