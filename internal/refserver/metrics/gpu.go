package metrics

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// simulated adds the metrics of simulated GPUs: utilization, power and memory that change slowly.
func simulated(b []byte, gpus int, now time.Time) []byte {
	swing := func(gpu int) float64 {
		return 0.5 + 0.4*math.Sin(2*math.Pi*float64(now.UnixMilli()%60_000)/60_000+float64(gpu))
	}
	for _, f := range []struct {
		name, help string
		value      func(gpu int) float64
	}{
		{"nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", swing},
		{"nv_gpu_memory_total_bytes", "GPU total memory, in bytes", func(int) float64 { return 80 << 30 }},
		{"nv_gpu_memory_used_bytes", "GPU used memory, in bytes", func(g int) float64 { return math.Floor(swing(g) * (40 << 30)) }},
		{"nv_gpu_power_usage", "GPU power usage in watts", func(g int) float64 { return 100 + math.Round(500*swing(g)) }},
		{"nv_gpu_power_limit", "GPU power management limit in watts", func(int) float64 { return 700 }},
	} {
		b = head(b, f.name, "gauge", f.help)
		for g := range gpus {
			b = fmt.Appendf(b, "%s{gpu_uuid=\"GPU-00000000-0000-0000-0000-%012d\"} ", f.name, g)
			b = append(strconv.AppendFloat(b, f.value(g), 'f', -1, 64), '\n')
		}
	}
	return b
}
