package metric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

const ms = 1_000_000

// stream is a request due at 0 and sent at 10 ms whose chunks came at the given milliseconds.
func stream(at ...int64) *llm.Sample {
	s := &llm.Sample{Due: 0, Sent: 10 * ms, Streamed: true}
	for _, t := range at {
		s.Chunks = append(s.Chunks, llm.Chunk{At: t * ms})
	}
	s.Headers, s.Last, s.End = (at[0]-5)*ms, (at[len(at)-1]+2)*ms, (at[len(at)-1]+3)*ms
	s.Output = llm.Count{Tokens: len(at), From: llm.Server}
	s.Input = llm.Count{Tokens: 100, From: llm.Server}
	return s
}

// byTag leaves out what has no value.
func byTag(v metric.Values) map[string]float64 {
	out := map[string]float64{}
	for _, id := range metric.IDs() {
		if !math.IsNaN(v[id]) {
			out[id.Definition().Tag] = v[id]
		}
	}
	return out
}

var near = cmpopts.EquateApprox(1e-9, 1e-9)

// The formulas of docs/metrics.md on a request whose numbers can be computed by hand: due 0, sent 10, chunks at 60, 70,
// 90 and 110 ms, four tokens, the server's counts at 112, [DONE] at 113.
func TestFormulas(t *testing.T) {
	s := stream(60, 70, 90, 110)
	s.Asked = 5
	s.Usage = &llm.Usage{Prompt: 100, Completion: 4, Total: 104, Reasoning: -1, Cached: 25}
	s.Own = &llm.Own{Prompt: 80, Output: 5}
	v, ok := metric.Of(s, false)
	if !ok {
		t.Fatal("no values")
	}
	want := map[string]float64{
		"time_to_first_token": 50, "time_to_first_output_token": 50, "time_to_second_token": 10, "request_latency": 100,
		"inter_token_latency": 50.0 / 3, "output_token_throughput_per_user": 60, "e2e_output_token_throughput": 40, "decode_duration": 50,
		"prefill_throughput_per_user": 2000, "input_sequence_length": 100, "output_sequence_length": 4, "output_token_count": 4,
		"requested_osl": 5, "osl_mismatch_diff_pct": -20, "usage_prompt_tokens": 100, "usage_completion_tokens": 4, "usage_total_tokens": 104,
		"usage_prompt_cache_read_tokens": 25, "usage_prompt_tokens_diff_pct": 25, "usage_completion_tokens_diff_pct": 20, "tokenizer_output_diff_pct": 25,
		"vllm_ttft": 45, "vllm_e2el": 102, "vllm_tpot": (102.0 - 45) / 3, "guidellm_tpot": 25, "guidellm_itl": 50.0 / 3, "guidellm_request_latency": 103,
	}
	if d := cmp.Diff(want, byTag(v), near); d != "" {
		t.Error(d)
	}
	// In open loop the same request has waited for 10 ms before it was sent.
	v, _ = metric.Of(s, true)
	got := byTag(v)
	for tag, x := range map[string]float64{
		"time_to_first_token": 60, "time_to_first_token_from_send": 50, "request_latency": 110, "request_latency_from_send": 100, "send_lag": 10,
		"inter_token_latency": 50.0 / 3, "time_to_second_token": 10,
	} {
		if math.Abs(got[tag]-x) > 1e-9 {
			t.Errorf("open %s is %v, want %v", tag, got[tag], x)
		}
	}
}

func TestReasoningComesBeforeTheAnswer(t *testing.T) {
	s := stream(60, 70, 90)
	s.Chunks[0].Kind, s.Chunks[1].Kind = llm.Thought, llm.Thought
	s.Output, s.Reasoning = llm.Count{Tokens: 4, From: llm.Server}, llm.Count{Tokens: 6, From: llm.Server}
	v, _ := metric.Of(s, false)
	got := byTag(v)
	for tag, want := range map[string]float64{
		"time_to_first_token": 50, "time_to_first_output_token": 80, "output_sequence_length": 10, "reasoning_token_count": 6, "output_token_count": 4,
		"thinking_efficiency": 1.5, "inter_token_latency": 30.0 / 9,
	} {
		if math.Abs(got[tag]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", tag, got[tag], want)
		}
	}
}

// Where the first chunk is known to carry several tokens, only the others took the time after it.
func TestTokensOfChunks(t *testing.T) {
	s := stream(60, 80)
	s.Chunks[0].Tokens, s.Chunks[1].Tokens = 3, 4
	s.Output.Tokens = 7
	v, _ := metric.Of(s, false)
	if got := v[metric.ITL]; got != 5 {
		t.Errorf("ITL %v", got)
	}
	c := metric.New(metric.Options{})
	c.Add(s)
	m, _ := metric.Find(c.Metrics(), "per_token_latency")
	if !m.Distributed() || m.Count != 4 || m.Avg != 5 {
		t.Errorf("%+v", m)
	}
}

func TestWhatHasNoValue(t *testing.T) {
	f := func(s *llm.Sample) {
		t.Helper()
		if v, ok := metric.Of(s, false); ok || len(byTag(v)) > 0 {
			t.Errorf("%v", byTag(v))
		}
	}
	failed := stream(60)
	failed.Class = record.Server
	f(failed)
	cut := stream(60)
	cut.Cut = true
	f(cut)
	f(&llm.Sample{Sent: 1, End: 2})
	one := stream(60)
	v, _ := metric.Of(one, false)
	got := byTag(v)
	for _, tag := range []string{"inter_token_latency", "time_to_second_token", "vllm_tpot"} {
		if _, ok := got[tag]; ok {
			t.Errorf("one token has %s", tag)
		}
	}
	whole := &llm.Sample{Sent: 0, Chunks: []llm.Chunk{{At: 50 * ms}}, End: 50 * ms, Output: llm.Count{Tokens: 10, From: llm.Server}}
	v, _ = metric.Of(whole, false)
	if _, ok := byTag(v)["time_to_first_token"]; ok || v[metric.Latency] != 50 {
		t.Errorf("%v", byTag(v))
	}
}

// Percentiles are numpy's, the deviation is the population's: np.percentile([1,2,3,4,10], ...), np.std.
func TestDistributions(t *testing.T) {
	c := metric.New(metric.Options{})
	for _, x := range []int64{3, 1, 10, 2, 4} {
		s := stream(10 + x)
		c.Add(s)
	}
	m, ok := metric.Find(c.Metrics(), "time_to_first_token")
	if !ok {
		t.Fatal("missing")
	}
	want := result.Metric{Count: 5, Avg: m.Avg, Sum: 20, Tag: m.Tag, Name: m.Name, Unit: m.Unit, Min: 1, Max: 10, Std: math.Sqrt(10), Quantiles: []result.Quantile{
		{P: 1, V: 1.04}, {P: 5, V: 1.2}, {P: 10, V: 1.4}, {P: 25, V: 2}, {P: 50, V: 3}, {P: 75, V: 4}, {P: 90, V: 7.6}, {P: 95, V: 8.8}, {P: 99, V: 9.76}, {P: 99.9, V: 9.976},
	}}
	if d := cmp.Diff(want, m, near); d != "" {
		t.Error(d)
	}
}

// Beyond what is kept exactly, percentiles are within 0.1 %.
func TestManyValuesAreWithinAThousandth(t *testing.T) {
	c := metric.New(metric.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	var all []float64
	for range 100_000 {
		x := int64(math.Exp(rng.NormFloat64()*2)*1e6) + 1
		s := &llm.Sample{Sent: 0, Chunks: []llm.Chunk{{At: x}}}
		c.Add(s)
		all = append(all, float64(x)/1e6)
	}
	slices.Sort(all)
	m, _ := metric.Find(c.Metrics(), "request_latency")
	for _, q := range m.Quantiles {
		want := all[int(q.P/100*float64(len(all)-1))]
		if math.Abs(q.V-want)/want > 0.0015 {
			t.Errorf("p%v is %v, want %v", q.P, q.V, want)
		}
	}
	if !m.Approximate || m.Min != all[0] || m.Max != all[len(all)-1] || m.Count != 100_000 {
		t.Errorf("%+v", m)
	}
}

func TestTotals(t *testing.T) {
	goodput, err := metric.ParseGoodput("ttft:50, request_latency:100")
	if err != nil {
		t.Fatal(err)
	}
	c := metric.New(metric.Options{Goodput: goodput})
	c.Add(stream(60, 110))  // good: 50 and 100
	c.Add(stream(61, 70))   // slow to start
	c.Add(stream(60, 1010)) // slow to end; the last content
	failed := stream(60)
	failed.Class = record.Server
	c.Add(failed)
	cut := stream(60)
	cut.Cut = true
	c.Add(cut)
	got := map[string]float64{}
	for _, m := range c.Metrics() {
		if !m.Distributed() {
			got[m.Tag] = m.Avg
		}
	}
	for tag, want := range map[string]float64{
		"benchmark_duration": 1, "request_throughput": 3, "output_token_throughput": 6, "input_token_throughput": 300, "total_token_throughput": 306,
		"good_request_count": 1, "goodput": 1, "good_request_fraction": 0.25, "request_count": 3, "error_request_count": 1, "request_error_rate": 25,
		"completed_request_count": 4, "canceled_request_count": 1, "total_isl": 300, "total_osl": 6,
	} {
		if math.Abs(got[tag]-want) > 1e-9 {
			t.Errorf("%s is %v, want %v", tag, got[tag], want)
		}
	}
	if m, _ := metric.Find(c.Metrics(), "inter_chunk_latency"); m.Count != 3 || m.Max != 950 || m.Min != 9 {
		t.Errorf("%+v", m)
	}
}

func TestTargets(t *testing.T) {
	f := func(text string, want metric.Target) {
		t.Helper()
		got, err := metric.ParseTarget(text)
		if err != nil || got.ID != want.ID || got.Stat != want.Stat || math.Abs(got.Share-want.Share) > 1e-12 {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	f("ttft.p99 ± 5 %", metric.Target{ID: metric.TTFT, Stat: "p99", Share: 0.05})
	f("itl+-2%", metric.Target{ID: metric.ITL, Stat: "avg", Share: 0.02})
	f("tpot.p99 ± 2 %", metric.Target{ID: metric.ITL, Stat: "p99", Share: 0.02})
	f("request_latency.mean +/- 0.5%", metric.Target{ID: metric.Latency, Stat: "avg", Share: 0.005})
	for _, bad := range []string{"", "ttft", "ttft.p99 5%", "ttft.p42 ± 5 %", "nonsense ± 5 %", "ttft ± 0 %", "send_lag ± 5%"} {
		if _, err := metric.ParseTarget(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestBadGoodput(t *testing.T) {
	for _, bad := range []string{"", "ttft", "ttft:x", "nonsense:1", "ttft:-1"} {
		if _, err := metric.ParseGoodput(bad); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ttft:200 itl:20")
	f.Add("ttft.p99 ± 5 %")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = metric.ParseGoodput(text)
		_, _ = metric.ParseTarget(text)
	})
}

// A million requests of 256 chunks must not take the memory of a million.
func TestCollectingIsCheap(t *testing.T) {
	c := metric.New(metric.Options{})
	s := stream(60, 70, 80, 90)
	for range 70_000 {
		c.Add(s)
	}
	if n := testing.AllocsPerRun(1000, func() { c.Add(s) }); n > 1 {
		t.Errorf("%v allocations a request", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	c := metric.New(metric.Options{})
	var at []int64
	for i := range 256 {
		at = append(at, int64(60+10*i))
	}
	s := stream(at...)
	b.ReportAllocs()
	for b.Loop() {
		c.Add(s)
	}
}

// With failures in it a latency has no end from some percentile on.
func TestAdjusted(t *testing.T) {
	c := metric.New(metric.Options{})
	for i := range int64(8) {
		c.Add(stream(60+i, 70+i))
	}
	if got := c.Adjusted(); got != nil {
		t.Errorf("nothing failed: %+v", got)
	}
	for range 2 {
		c.Add(&llm.Sample{Class: record.Server})
	}
	m, ok := metric.Find(c.Adjusted(), "adj_request_latency")
	if !ok || m.Count != 10 || m.Min != 60 || !math.IsInf(m.Avg, 1) {
		t.Fatalf("%+v", m)
	}
	for p, want := range map[float64]float64{1: 60, 50: 64, 75: 67, 90: math.Inf(1), 99: math.Inf(1)} {
		if got, _ := m.Find(p); got != want {
			t.Errorf("p%g is %g, want %g", p, got, want)
		}
	}
}
