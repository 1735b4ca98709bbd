package text_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

func TestWholeRun(t *testing.T) {
	c, out, errs := console(simplePlan(), simpleModel())
	l := simpleLevel()
	c.Settings()
	c.Header(&l)
	c.Pass(1, &result.Window{Client: l.Client})
	c.Level(&l)
	c.Summary([]result.Level{l})
	same(t, "stdout", out.String(), `*** Measurement Settings ***
  Batch size: 1
  Service Kind: TRITON
  Using "time_windows" mode for stabilization
  Stabilizing using average latency and throughput
  Measurement window: 1000 msec
  Using synchronous calls for inference

Request concurrency: 1
  Client: `+`
    Request count: 7462
    Throughput: 2051.62 infer/sec
    Avg latency: 476 usec (standard deviation 276 usec)
    p50 latency: 427 usec
    p90 latency: 638 usec
    p95 latency: 674 usec
    p99 latency: 918 usec
    Avg HTTP time: 472 usec (send/recv 67 usec + response wait 405 usec)
  Server: `+`
    Inference count: 7463
    Execution count: 7463
    Successful request count: 7463
    Avg request latency: 291 usec (overhead 3 usec + queue 50 usec + compute input 20 usec + compute infer 149 usec + compute output 69 usec)
Inferences/Second vs. Client Average Batch Latency
Concurrency: 1, throughput: 2051.62 infer/sec, latency 476 usec
`)
	same(t, "stderr", errs.String(), "")
}

func TestSettings(t *testing.T) {
	f := func(name string, change func(*plan.Plan, *text.Console), want string) {
		t.Helper()
		p := simplePlan()
		c, out, _ := console(p, simpleModel())
		change(p, c)
		c.Settings()
		same(t, name, out.String(), "*** Measurement Settings ***\n"+want+"\n")
	}
	const sync = "  Using synchronous calls for inference\n"
	const async = "  Using asynchronous calls for inference\n"
	const average = `  Using "time_windows" mode for stabilization
  Stabilizing using average latency and throughput
  Measurement window: 1000 msec
`
	const triton = "  Batch size: 1\n  Service Kind: TRITON\n"
	f("sweep with a limit", func(p *plan.Plan, c *text.Console) {
		p.Load.Concurrency = plan.IntRange{Start: 1, End: 6, Step: 2}
		p.Measure.LatencyLimit = 30 * time.Millisecond
		c.Async = true
	}, triton+`  Using "time_windows" mode for stabilization
  Stabilizing using average throughput
  Measurement window: 1000 msec
  Latency limit: 30 msec
  Concurrency limit: 6 concurrent requests
`+async)
	f("no end, asynchronous", func(p *plan.Plan, c *text.Console) {
		p.Load.Concurrency.End, c.Async = 0, true
	}, triton+strings.ReplaceAll(average, "latency and ", "")+"  Latency limit: 0 msec\n"+async)
	f("no end, synchronous: as many as threads", func(p *plan.Plan, _ *text.Console) {
		p.Load.Concurrency.End = 0
	}, triton+average+"  Latency limit: 0 msec\n  Concurrency limit: 4 concurrent requests\n"+sync)
	f("binary search of rates", func(p *plan.Plan, c *text.Console) {
		p.Load.Mode, p.Load.Search, c.Async = plan.RequestRate, plan.Binary, true
		p.Load.Rate = plan.FloatRange{Start: 20, End: 160.5, Step: 20}
		p.Measure.LatencyLimit = 45 * time.Millisecond
	}, triton+strings.ReplaceAll(average, "latency and ", "")+`  Latency limit: 45 msec
  Request Rate limit: 160.5 requests per seconds
  Using uniform distribution on request generation
  Using Binary Search algorithm
`+async)
	f("poisson", func(p *plan.Plan, _ *text.Console) {
		p.Load.Mode, p.Load.Distribution = plan.RequestRate, plan.Poisson
	}, triton+average+"  Using poisson distribution on request generation\n"+sync)
	f("percentile, count windows", func(p *plan.Plan, _ *text.Console) {
		p.Measure.Percentile, p.Measure.Window, p.Measure.MinRequests = 95, plan.CountWindows, 60
	}, triton+`  Using "count_windows" mode for stabilization
  Stabilizing using p95latency and throughput
  Minimum number of samples in each window: 60
`+sync)
	f("request counts", func(p *plan.Plan, _ *text.Console) {
		p.Measure.WarmupCount, p.Measure.RequestCount = 1, 50
	}, triton+"  Sending 1 warmup request\n  Sending 50 benchmark requests\n"+sync)
	f("a fixed schedule has a count", func(p *plan.Plan, c *text.Console) {
		p.Load.Mode, p.Target.Kind, p.Measure.RequestCount, c.Async = plan.FixedSchedule, plan.OpenAI, 6, true
	}, "  Service Kind: OPENAI\n  Sending 6 benchmark requests\n"+async)
	f("decoupled", func(_ *plan.Plan, c *text.Console) {
		c.Model.Decoupled, c.Async = true, true
	}, triton+strings.ReplaceAll(average, "latency and ", "")+async+"  Detected decoupled model, using the first response for measuring latency\n")
	for kind, name := range map[plan.Kind]string{
		plan.TFServing: "TENSORFLOW_SERVING", plan.TorchServe: "TORCHSERVE", plan.TritonCAPI: "TRITON_C_API", plan.DynamicGRPC: "DYNAMIC_GRPC",
	} {
		f(name, func(p *plan.Plan, _ *text.Console) { p.Target.Kind = kind }, "  Service Kind: "+name+"\n"+average+sync)
	}
	f("KServe v2, but not Triton", func(_ *plan.Plan, c *text.Console) {
		c.Model.Unconfigured = true
	}, "  Batch size: 1\n  Service Kind: KSERVE_V2\n"+average+sync)
	f("batch asked for", func(p *plan.Plan, _ *text.Console) {
		p.Target.Kind, p.Input.BatchSet, p.Input.Batch = plan.TritonCAPI, true, 4
	}, "  Batch size: 4\n  Service Kind: TRITON_C_API\n"+average+sync)
}

func TestHeaders(t *testing.T) {
	c, out, _ := console(simplePlan(), simpleModel())
	c.Header(&result.Level{Mode: plan.Concurrency, Concurrency: 4})
	c.Header(&result.Level{Mode: plan.RequestRate, Rate: 12.5})
	c.Header(&result.Level{Mode: plan.CustomIntervals, Rate: 40})
	same(t, "stdout", out.String(), "Request concurrency: 4\nRequest Rate: 12.5 inference requests per second\n")

	out.Reset()
	c.DataRead(1, 16)
	c.DataRead(3, 9)
	same(t, "data", out.String(), " Successfully read data for 1 stream/streams with 16 step/steps.\n Successfully read data for 3 stream/streams.\n")
}

func TestPass(t *testing.T) {
	p := simplePlan()
	p.Verbose = 1
	c, out, errs := console(p, simpleModel())
	w := result.Window{Client: result.Client{Requests: 9, InferPerSec: 33.83214, Latency: latency(176620, 60100, 1, 2, 3, 4)}}
	c.Pass(1, &w)
	p.Measure.Percentile = 95
	c.Pass(2, &w)
	c.Pass(3, &result.Window{Error: "lost", Client: result.Client{Requests: 2}})
	c.Pass(4, &result.Window{Error: "nothing came"})
	same(t, "stdout", out.String(), "  Pass [1] throughput: 33.8321 infer/sec. Avg latency: 176620 usec (std 60100 usec). \n"+
		"  Pass [2] throughput: 33.8321 infer/sec. p95 latency: 3 usec\n  Pass [3] cb::Error: lost\n  Pass [4] cb::Error: "+text.NoValidRequests+"\n")
	out.Reset()
	p.Measure.StopOnFailure = true
	failed := result.Window{Client: result.Client{Requests: 3}, Error: result.RequestsFailed}
	c.Pass(1, &failed)
	c.Async = true
	c.Pass(2, &failed)
	same(t, "failures while counting", out.String(), "  Pass [1] cb::Error: "+text.LoadFailedSync+"\n  Pass [2] cb::Error: "+text.LoadFailedAsync+"\n")
	c.Async = false
	p.Verbose = 0
	out.Reset()
	c.Pass(4, &result.Window{Client: result.Client{Requests: 1}})
	same(t, "quiet", out.String(), "")
	l := simpleLevel()
	l.Client.Requests = 1
	c.Level(&l)
	same(t, "single request", errs.String(), text.SingleRequest+"\n")
}

func TestClientBlock(t *testing.T) {
	f := func(name string, change func(*plan.Plan, *service.Model, *result.Level), want string) {
		t.Helper()
		p, m, l := simplePlan(), simpleModel(), simpleLevel()
		m.Statistics = false
		change(p, m, &l)
		c, out, _ := console(p, m)
		c.Level(&l)
		same(t, name, out.String(), "  Client: \n    Request count: 7462\n"+want)
	}
	const tail = `    p50 latency: 427 usec
    p90 latency: 638 usec
    p95 latency: 674 usec
    p99 latency: 918 usec
`
	const avg = "    Throughput: 2051.62 infer/sec\n    Avg latency: 476 usec (standard deviation 276 usec)\n" + tail
	const http = "    Avg HTTP time: 472 usec (send/recv 67 usec + response wait 405 usec)\n"
	f("verbose gRPC", func(p *plan.Plan, _ *service.Model, _ *result.Level) {
		p.Target.Protocol, p.Verbose = plan.GRPC, 1
	}, strings.Replace(avg, "    Avg lat", "    Avg client overhead: 0.00%\n    Avg lat", 1)+
		"    Avg gRPC time: 472 usec (marshal 67 usec + response wait 405 usec + unmarshal 0 usec)\n")
	f("gRPC", func(p *plan.Plan, _ *service.Model, _ *result.Level) { p.Target.Protocol = plan.GRPC },
		avg+"    Avg gRPC time: 472 usec ((un)marshal request/response 67 usec + response wait 405 usec)\n")
	f("verbose HTTP with percentile", func(p *plan.Plan, _ *service.Model, l *result.Level) {
		p.Verbose, p.Measure.Percentile, l.Client.OverheadPercent = 1, 85, 2.966
		l.Client.Latency.Quantiles = append(l.Client.Latency.Quantiles, result.Quantile{P: 85, V: float64(usec(500))})
	}, "    Throughput: 2051.62 infer/sec\n    Avg client overhead: 2.97%\n"+
		strings.Replace(tail, "    p90", "    p85 latency: 500 usec\n    p90", 1)+
		"    Avg HTTP time: 472 usec (send 67 usec + response wait 405 usec + receive 0 usec)\n")
	f("percentile that is shown anyway", func(p *plan.Plan, _ *service.Model, _ *result.Level) { p.Measure.Percentile = 95 },
		"    Throughput: 2051.62 infer/sec\n"+tail+http)
	f("sequences", func(_ *plan.Plan, m *service.Model, l *result.Level) {
		m.Scheduler, l.Client.Sequences, l.Client.SequencePerSec = service.SequenceBatcher, 885, 243.4781
	}, "    Sequence count: 885 (243.478 seq/sec)\n"+avg+http)
	f("decoupled", func(_ *plan.Plan, m *service.Model, l *result.Level) {
		m.Decoupled, l.Client.ResponsePerSec = true, 486.50912
	}, strings.Replace(avg, "    Avg lat", "    Response Throughput: 486.509 infer/sec\n    Avg lat", 1)+"    \n")
	f("in process", func(p *plan.Plan, _ *service.Model, _ *result.Level) {
		p.Target.Kind, p.Target.Protocol = plan.TritonCAPI, ""
	}, avg+"    \n")
	f("parts that add up to more than the whole", func(_ *plan.Plan, _ *service.Model, l *result.Level) { l.Client.CallNs = 10_000 },
		avg+"    Avg HTTP time: 10 usec (send/recv 67 usec + response wait 0 usec)\n")
	f("one in a hundred delayed is still fine", func(_ *plan.Plan, _ *service.Model, l *result.Level) { l.Client.Delayed = 74 }, avg+http)
	f("delayed", func(_ *plan.Plan, _ *service.Model, l *result.Level) {
		l.Client.Delayed, l.Client.SendRate = 7360, 41.0521
	},
		"    Avg send request rate: 41.05 infer/sec\n"+
			"    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. 98.63% of the requests were delayed. \n"+avg+http)
	f("overhead", func(_ *plan.Plan, _ *service.Model, l *result.Level) { l.Client.OverheadPercent = 50.1 }, avg+http+text.KeepUp+"\n")
}

func TestSummary(t *testing.T) {
	levels := []result.Level{simpleLevel(), simpleLevel(), simpleLevel(), simpleLevel()}
	levels[1].Concurrency, levels[1].Accepted, levels[1].Stable = 2, false, false
	levels[2].Concurrency, levels[2].Accepted, levels[2].OverLimit = 3, false, true
	levels[3].Concurrency, levels[3].Accepted, levels[3].Client.Requests = 4, false, 0
	p := simplePlan()
	c, out, _ := console(p, simpleModel())
	c.Summary(levels[1:])
	same(t, "nothing accepted", out.String(), "")
	p.Measure.Percentile = 99
	c.Summary(levels)
	same(t, "perf_analyzer mode", out.String(), "Inferences/Second vs. Client p99 Batch Latency\nConcurrency: 1, throughput: 2051.62 infer/sec, latency 918 usec\n")
	out.Reset()
	p.Policies.BareReport = false
	c.Summary(levels)
	same(t, "redline", out.String(), `Inferences/Second vs. Client p99 Batch Latency
Concurrency: 1, throughput: 2051.62 infer/sec, latency 918 usec
Concurrency: 2, throughput: 2051.62 infer/sec, latency 918 usec (unstable)
Concurrency: 3, throughput: 2051.62 infer/sec, latency 918 usec (over the limit)
`)
	out.Reset()
	levels[0].Stable, levels[0].Unfinished = false, true
	c.Summary(levels[:1])
	same(t, "unfinished", out.String(), "Inferences/Second vs. Client p99 Batch Latency\nConcurrency: 1, throughput: 2051.62 infer/sec, latency 918 usec (unfinished)\n")
	p.Policies.BareReport = true
	f := func(mode plan.Mode, rate float64, want string) {
		t.Helper()
		out.Reset()
		l := simpleLevel()
		l.Mode, l.Rate, p.Load.Mode = mode, rate, mode
		c.Summary([]result.Level{l})
		_, got, _ := strings.Cut(out.String(), "\n")
		same(t, string(mode), got, want)
	}
	f(plan.RequestRate, 400, "Request Rate: 400, throughput: 2051.62 infer/sec, latency 918 usec\n")
	f(plan.CustomIntervals, 40, "Request Rate: 40, throughput: 2051.62 infer/sec, latency 918 usec\n")
	f(plan.FixedSchedule, 0, "Request Rate: 1, throughput: 2051.62 infer/sec, latency 918 usec\n")
	f(plan.PeriodicConcurrency, 0, "")
	f(plan.SessionConcurrency, 0, "")
}

func TestLateScheduleIsRemarked(t *testing.T) {
	p := simplePlan()
	p.Load.Mode = plan.RequestRate
	c, _, errs := console(p, simpleModel())
	l := simpleLevel()
	l.Mode = plan.RequestRate
	l.Client.Sent, l.Client.Due = latency(1000, 0), latency(1099, 0)
	c.Level(&l)
	same(t, "within a tenth", errs.String(), "")
	l.Client.Due = latency(9000, 0)
	c.Level(&l)
	same(t, "late", errs.String(), text.Late(1000, 9000)+"\n")
}

// perf_analyzer mode names requests that the server held on stderr; redline has a block of its own for them.
func TestAHoldIsRemarked(t *testing.T) {
	for bare, want := range map[bool]string{true: "WARNING: Held by the server: 3 requests waited", false: ""} {
		p := simplePlan()
		p.Policies.BareReport = bare
		c, _, errs := console(p, simpleModel())
		l := simpleLevel()
		l.Hold = &result.Hold{Requests: 3, Times: 3}
		c.Level(&l)
		if got := errs.String(); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%t: %s", bare, got)
		}
	}
}

func TestPartialGoesToStderr(t *testing.T) {
	c, out, errs := console(simplePlan(), simpleModel())
	l := simpleLevel()
	c.Partial(&result.Level{})
	same(t, "nothing measured", errs.String(), "")
	c.Partial(&l)
	same(t, "stdout", out.String(), "")
	if got := errs.String(); !strings.HasPrefix(got, "Measured before the run ended:\nRequest concurrency: 1\n  Client: \n    Request count: 7462\n") {
		t.Errorf("stderr: %s", got)
	}
}

func TestNumbersAsTheOriginalPrintsThem(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		c, out, _ := console(simplePlan(), simpleModel())
		c.Header(&result.Level{Mode: plan.RequestRate, Rate: v})
		same(t, want, out.String(), "Request Rate: "+want+" inference requests per second\n")
	}
	f(14.65432, "14.6543")
	f(40, "40")
	f(309.510, "309.51")
	f(999999.5, "1e+06")
	f(1e6, "1e+06")
	f(100000, "100000")
	f(123456.7, "123457")
	f(0.0001, "0.0001")
	f(0.00001, "1e-05")
	f(0, "0")
}
