package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// serverBlock writes the server's view of a model, and of the models inside it.
type serverBlock struct {
	out, remarks *page
	model        *service.Model
}

// times are average durations in microseconds.
type times struct {
	queue, input, infer, output uint64
	compute                     uint64 // input, infer and output averaged as one
	hit, miss                   uint64
	cached                      uint64 // compute and cache averaged over all requests
}

// average is ns / (count * 1000), 0 when nothing was counted.
func average(ns, count uint64) uint64 {
	if count == 0 {
		return 0
	}
	return ns / (count * 1000)
}

func averageOf(t service.Tally) uint64 { return average(t.Ns, t.Count) }

func timesOf(s *service.ModelStats) times {
	compute := s.ComputeInput.Ns + s.ComputeInfer.Ns + s.ComputeOutput.Ns
	n := s.ComputeInput.Count
	return times{
		queue:   averageOf(s.Queue),
		input:   averageOf(s.ComputeInput),
		infer:   averageOf(s.ComputeInfer),
		output:  averageOf(s.ComputeOutput),
		compute: average(compute, n),
		hit:     averageOf(s.CacheHit),
		miss:    averageOf(s.CacheMiss),
		cached:  average(compute+s.CacheHit.Ns+s.CacheMiss.Ns, n+s.CacheHit.Count),
	}
}

// ensembleTimes sums the averages of all models that really compute, plus the cache times of the ensembles.
func ensembleTimes(s *result.Server) times {
	sum := times{hit: averageOf(s.Stats.CacheHit), miss: averageOf(s.Stats.CacheMiss)}
	for i := range s.Composing {
		part := &s.Composing[i]
		t := timesOf(&part.Stats)
		if len(part.Composing) > 0 {
			t = ensembleTimes(part)
		}
		sum.queue += t.queue
		sum.compute += t.compute
		sum.hit += t.hit
		sum.miss += t.miss
		sum.cached += t.cached
	}
	return sum
}

// write reports one model. Depth is 1 for the model under test and grows by one for each ensemble around a model.
func (b *serverBlock) write(s *result.Server, depth int) {
	pad := strings.Repeat(" ", 2*depth)
	st := &s.Stats
	if st.Success.Count == 0 {
		b.out.linef("%s  Request count: 0", pad)
		return
	}
	cache := s.Cache || b.model.Cache
	b.out.linef("%s  Inference count: %d", pad, st.InferenceCount)
	b.out.linef("%s  Execution count: %d", pad, st.ExecutionCount)
	if cache {
		b.out.linef("%s  Cache hit count: %d", pad, st.CacheHit.Count)
		b.out.linef("%s  Cache miss count: %d", pad, st.CacheMiss.Count)
	}
	b.out.linef("%s  Successful request count: %d", pad, st.Success.Count)
	if len(s.Composing) == 0 {
		b.leaf(st, pad, cache)
		return
	}
	b.ensemble(s, pad, cache)
	b.out.linef("%sComposing models: ", pad)
	for _, part := range sorted(s.Composing) {
		b.out.linef("%s%s, version: %s", pad, part.Stats.Name, part.Stats.Version)
		b.write(&part, depth+1)
	}
}

func (b *serverBlock) leaf(st *service.ModelStats, pad string, cache bool) {
	total, t := averageOf(st.Success), timesOf(st)
	if !cache {
		b.out.linef("%s  Avg request latency: %d usec (overhead %d usec + queue %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)",
			pad, total, less(total, t.queue+t.compute), t.queue, t.input, t.infer, t.output)
		if t.hit > 0 || t.miss > 0 {
			b.remarks.linef("Response Cache is disabled for model [%s] but cache hit/miss latency is non-zero.", b.model.Name)
		}
		return
	}
	b.out.linef("%s  Avg request latency: %d usec (overhead %d usec + queue %d usec + cache hit/miss %d usec)",
		pad, total, less(total, t.queue+t.cached), t.queue, t.cached)
	b.out.linef("%s%s  Average Cache Hit Latency: %d usec", pad, pad, t.hit)
	b.out.linef("%s%s  Average Cache Miss Latency: %d usec (cache lookup/insertion %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)",
		pad, pad, t.miss+t.compute, t.miss, t.input, t.infer, t.output)
}

func (b *serverBlock) ensemble(s *result.Server, pad string, cache bool) {
	total, t := averageOf(s.Stats.Success), ensembleTimes(s)
	if !cache {
		b.out.linef("%s  Avg request latency: %d usec (overhead %d usec + queue %d usec + compute %d usec)\n",
			pad, total, less(total, t.queue+t.compute), t.queue, t.compute)
		return
	}
	// With a cache in front of the whole ensemble, its parts say nothing about the average request.
	if b.model.OwnCache {
		b.out.linef("%s  Avg request latency: %d usec", pad, total)
	} else {
		b.out.linef("%s  Avg request latency: %d usec (overhead %d usec + queue %d usec + cache hit/miss %d usec)",
			pad, total, less(total, t.queue+t.cached), t.queue, t.cached)
	}
	b.out.linef("%s%s  Average Cache Hit Latency: %d usec", pad, pad, t.hit)
	b.out.linef("%s%s  Average Cache Miss Latency: %d usec \n", pad, pad, t.miss+t.compute)
}

// sorted puts composing models in the order of name and version.
func sorted(list []result.Server) []result.Server {
	return slices.SortedStableFunc(slices.Values(list), func(a, b result.Server) int {
		return cmp.Or(cmp.Compare(a.Stats.Name, b.Stats.Name), cmp.Compare(a.Stats.Version, b.Stats.Version))
	})
}

// maxGPUs is how many GPUs are listed one by one.
const maxGPUs = 16

func gpus(p *page, g *result.GPU) {
	if g == nil {
		g = &result.GPU{}
	}
	if max(len(g.Utilization), len(g.PowerWatts), len(g.MemoryUsed), len(g.MemoryTotal)) > maxGPUs {
		p.linef("%s", TooManyGPUs)
		return
	}
	bytes := func(n uint64) string { return fmt.Sprintf("%d bytes", n) }
	gpuLines(p, "Avg GPU Utilization", g.Utilization, func(share float64) string { return number(share*100) + "%" })
	gpuLines(p, "Avg GPU Power Usage", g.PowerWatts, func(watts float64) string { return number(watts) + " watts" })
	gpuLines(p, "Max GPU Memory Usage", g.MemoryUsed, bytes)
	gpuLines(p, "Total GPU Memory", g.MemoryTotal, bytes)
}

// gpuLines writes a quantity, and its value on each GPU.
func gpuLines[V any](p *page, title string, byID map[string]V, form func(V) string) {
	p.linef("    %s:", title)
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		p.linef("      %s : %s", id, form(byID[id]))
	}
}
