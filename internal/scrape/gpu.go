package scrape

import (
	"iter"
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// The gauges of a Triton server for each GPU, which the label gpu_uuid identifies.
const (
	gpuUtilization = "nv_gpu_utilization"
	gpuPower       = "nv_gpu_power_usage"
	gpuMemoryUsed  = "nv_gpu_memory_used_bytes"
	gpuMemoryTotal = "nv_gpu_memory_total_bytes"
	gpuLabel       = "gpu_uuid"
)

// GPUMetrics names the metrics that GPU reads, for Config.Expect.
func GPUMetrics() []string {
	return []string{gpuUtilization, gpuPower, gpuMemoryUsed, gpuMemoryTotal}
}

// IsGPUMetric reports whether GPU reads this metric, for Config.Keep.
func IsGPUMetric(name string) bool { return slices.Contains(GPUMetrics(), name) }

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

func (m mean) add(p *Page, name string) {
	for id, v := range p.byGPU(name) {
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

// byGPU yields the finite values of a metric with the GPU each is for.
func (p *Page) byGPU(name string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for i := range p.Samples {
			s := &p.Samples[i]
			id := s.Label(gpuLabel)
			if s.Name != name || id == "" || math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				continue
			}
			if !yield(id, s.Value) {
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
