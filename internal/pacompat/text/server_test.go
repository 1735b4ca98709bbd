package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// part is a model that served n requests with the given averages in microseconds.
func part(name string, n, total, queue, in, infer, out uint64) result.Server {
	return result.Server{Stats: service.ModelStats{
		Name: name, Version: "1", InferenceCount: n, ExecutionCount: n,
		Success: tally(n, total), Queue: tally(n, queue),
		ComputeInput: tally(n, in), ComputeInfer: tally(n, infer), ComputeOutput: tally(n, out),
	}}
}

func serverText(m *service.Model, s *result.Server) (out, errs string) {
	c, o, e := console(simplePlan(), m)
	l := simpleLevel()
	l.Server = s
	c.Level(&l)
	_, out, _ = strings.Cut(o.String(), "  Server: \n")
	return out, e.String()
}

func TestEnsembleBlock(t *testing.T) {
	// Given out of order: the report sorts by name.
	ens := part("chain", 5487, 492, 1, 2, 3, 4)
	ens.Composing = []result.Server{
		part("identity_stage2_fp32", 5487, 277, 28, 20, 119, 108),
		part("custom_identity_fp32", 5487, 211, 20, 21, 133, 35),
	}
	got, _ := serverText(simpleModel(), &ens)
	same(t, "ensemble", got, `    Inference count: 5487
    Execution count: 5487
    Successful request count: 5487
    Avg request latency: 492 usec (overhead 8 usec + queue 48 usec + compute 436 usec)

  Composing models: `+`
  custom_identity_fp32, version: 1
      Inference count: 5487
      Execution count: 5487
      Successful request count: 5487
      Avg request latency: 211 usec (overhead 2 usec + queue 20 usec + compute input 21 usec + compute infer 133 usec + compute output 35 usec)
  identity_stage2_fp32, version: 1
      Inference count: 5487
      Execution count: 5487
      Successful request count: 5487
      Avg request latency: 277 usec (overhead 2 usec + queue 28 usec + compute input 20 usec + compute infer 119 usec + compute output 108 usec)
`)
}

func TestNestedEnsembleBlock(t *testing.T) {
	inner := part("inner", 10, 100, 0, 0, 0, 0)
	inner.Composing = []result.Server{part("leaf", 10, 90, 10, 20, 30, 20)}
	outer := part("outer", 10, 300, 0, 0, 0, 0)
	outer.Composing = []result.Server{inner, part("other", 10, 150, 5, 10, 110, 20)}
	got, _ := serverText(simpleModel(), &outer)
	same(t, "nested", got, `    Inference count: 10
    Execution count: 10
    Successful request count: 10
    Avg request latency: 300 usec (overhead 75 usec + queue 15 usec + compute 210 usec)

  Composing models: `+`
  inner, version: 1
      Inference count: 10
      Execution count: 10
      Successful request count: 10
      Avg request latency: 100 usec (overhead 20 usec + queue 10 usec + compute 70 usec)

    Composing models: `+`
    leaf, version: 1
        Inference count: 10
        Execution count: 10
        Successful request count: 10
        Avg request latency: 90 usec (overhead 10 usec + queue 10 usec + compute input 20 usec + compute infer 30 usec + compute output 20 usec)
  other, version: 1
      Inference count: 10
      Execution count: 10
      Successful request count: 10
      Avg request latency: 150 usec (overhead 5 usec + queue 5 usec + compute input 10 usec + compute infer 110 usec + compute output 20 usec)
`)
}

// cached is a model of which 30 of 40 requests came out of the cache.
func cached() result.Server {
	s := part("simple", 10, 0, 0, 40, 100, 60)
	s.Stats.Success, s.Stats.Queue = tally(40, 80), tally(40, 7)
	s.Stats.CacheHit, s.Stats.CacheMiss = tally(30, 8), tally(10, 12)
	return s
}

func TestCacheBlocks(t *testing.T) {
	m := simpleModel()
	m.Cache, m.OwnCache = true, true
	s := cached()
	got, _ := serverText(m, &s)
	// (30*8 + 10*12 + 10*200) / (10 + 30) = 59
	same(t, "model", got, `    Inference count: 10
    Execution count: 10
    Cache hit count: 30
    Cache miss count: 10
    Successful request count: 40
    Avg request latency: 80 usec (overhead 14 usec + queue 7 usec + cache hit/miss 59 usec)
      Average Cache Hit Latency: 8 usec
      Average Cache Miss Latency: 212 usec (cache lookup/insertion 12 usec + compute input 40 usec + compute infer 100 usec + compute output 60 usec)
`)

	ens := part("chain", 10, 100, 0, 0, 0, 0)
	ens.Composing = []result.Server{cached()}
	const children = `
  Composing models: ` + `
  simple, version: 1
      Inference count: 10
      Execution count: 10
      Cache hit count: 30
      Cache miss count: 10
      Successful request count: 40
      Avg request latency: 80 usec (overhead 14 usec + queue 7 usec + cache hit/miss 59 usec)
          Average Cache Hit Latency: 8 usec
          Average Cache Miss Latency: 212 usec (cache lookup/insertion 12 usec + compute input 40 usec + compute infer 100 usec + compute output 60 usec)
`
	const head = `    Inference count: 10
    Execution count: 10
    Cache hit count: 0
    Cache miss count: 0
    Successful request count: 10
    Avg request latency: 100 usec`
	const tail = `
      Average Cache Hit Latency: 8 usec
      Average Cache Miss Latency: 212 usec ` + "\n" + children
	m.OwnCache = false
	got, _ = serverText(m, &ens)
	same(t, "cache below", got, head+" (overhead 34 usec + queue 7 usec + cache hit/miss 59 usec)"+tail)
	m.OwnCache = true
	got, _ = serverText(m, &ens)
	same(t, "cache on top", got, head+tail)

	s = cached()
	_, errs := serverText(simpleModel(), &s)
	same(t, "cache that should not be", errs, "Response Cache is disabled for model [simple] but cache hit/miss latency is non-zero.\n")
}

func TestServerWithoutRequests(t *testing.T) {
	for _, s := range []*result.Server{nil, {}} {
		got, _ := serverText(simpleModel(), s)
		same(t, "idle server", got, "    Request count: 0\n")
	}
}

func TestPrometheusBlock(t *testing.T) {
	p := simplePlan()
	p.Target.Metrics.Collect = true
	m := simpleModel()
	m.Statistics = false
	c, out, _ := console(p, m)
	l := simpleLevel()
	f := func(name, want string) {
		t.Helper()
		out.Reset()
		c.Level(&l)
		_, got, _ := strings.Cut(out.String(), "  Server Prometheus Metrics: \n")
		same(t, name, got, want)
	}
	f("none", "    Avg GPU Utilization:\n    Avg GPU Power Usage:\n    Max GPU Memory Usage:\n    Total GPU Memory:\n")
	l.GPU = &result.GPU{
		Utilization: map[string]float64{"GPU-z": 0.3333333, "GPU-a": 1}, PowerWatts: map[string]float64{"GPU-a": 75.25},
		MemoryUsed: map[string]uint64{"GPU-a": 21474836480}, MemoryTotal: map[string]uint64{"GPU-a": 85899345920},
	}
	f("two", `    Avg GPU Utilization:
      GPU-a : 100%
      GPU-z : 33.3333%
    Avg GPU Power Usage:
      GPU-a : 75.25 watts
    Max GPU Memory Usage:
      GPU-a : 21474836480 bytes
    Total GPU Memory:
      GPU-a : 85899345920 bytes
`)
	for i := range 17 {
		l.GPU.PowerWatts[fmt.Sprint("GPU-", i)] = 1
	}
	f("too many", text.TooManyGPUs+"\n")
}
