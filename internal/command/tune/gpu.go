package tune

import (
	"context"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scrape"
)

// gpuInterval is the time between two readings of a page of --server-metrics.
const gpuInterval = time.Second

// gpuPages are the pages with metrics of GPUs that the options name: that of --collect-metrics, and those of --server-metrics.
func gpuPages(pl *plan.Plan, o plan.Outcome) []scrape.Config {
	var pages []scrape.Config
	keep := func(name string) bool { return scrape.IsGPUMetric(name) || scrape.IsDCGMMetric(name) }
	if pl != nil && pl.Target.Metrics.Collect {
		m := &pl.Target.Metrics
		pages = append(pages, scrape.Config{URL: m.URL, Interval: m.Interval, Keep: keep})
	}
	for _, address := range o.ServerMetrics {
		pages = append(pages, scrape.Config{URL: scrape.Complete(address), Interval: gpuInterval, Keep: keep})
	}
	return pages
}

// pollGPU reads the pages while a load runs. The function that it returns ends that; it returns nil if no page had a figure.
func (s *session) pollGPU(ctx context.Context, pages []scrape.Config) func() *result.GPU {
	var pollers []*scrape.Poller
	for _, page := range pages {
		p := scrape.New(page)
		if err := p.Start(ctx); err != nil {
			s.noGPU(ctx, line(err))
			continue
		}
		pollers = append(pollers, p)
	}
	return func() *result.GPU {
		if len(pollers) == 0 {
			return nil
		}
		var windows []scrape.Window
		for _, p := range pollers {
			windows = append(windows, p.Take())
			p.Stop()
		}
		gpu := scrape.GPU(windows...)
		if len(gpu.MemoryUsed)+len(gpu.PowerWatts)+len(gpu.Utilization) > 0 {
			return gpu
		}
		s.noGPU(ctx, "the page has no metrics of GPUs, neither Triton's nv_gpu_memory_used_bytes nor DCGM_FI_DEV_FB_USED")
		return nil
	}
}

// noGPU says once why candidates lack figures of GPUs.
func (s *session) noGPU(ctx context.Context, why string) {
	if s.gpuMissing || ctx.Err() != nil {
		return
	}
	s.gpuMissing = true
	s.Line.Clear()
	fmt.Fprintf(s.Stderr, "warning: candidates lack GPU memory and power: %s\n", why)
}
