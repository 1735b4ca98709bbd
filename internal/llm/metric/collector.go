package metric

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Options control what a Collector computes.
type Options struct {
	// Open: requests have a schedule, and latencies start at the due time.
	Open bool
	// Goodput are the objectives that a good request meets.
	Goodput []Objective
	// Level is the confidence level of intervals; 0 computes none.
	Level float64
	// From is when the measured time began, if requests were in flight before; 0 for the first send.
	From int64
}

// Collector collects the samples of a level in bounded memory.
type Collector struct {
	o      Options
	series [numIDs]series
	trails map[ID]*stats.Trail // of the quantities with intervals
	// The gaps of all requests: between chunks, per token, and from a first event without content to the first chunk.
	gaps, perToken, opening series
	flow                    stats.Fold
	goodness                *stats.Trail // 1 for each good request, 0 for each other one; nil without Goodput

	ok, failed, cut, good uint64
	mismatched            uint64 // output lengths that differ from the requested one
	disagree              uint64 // token counts in which server and tokenizer differ
	checks                checks
	from                  [3]Origins
	busyNs                int64 // of all requests, failed ones too
	firstSent, lastEnd    int64 // of whole responses
	began, ended          int64 // of all requests
}

// Origins counts the sources of token counts, by llm.Origin.
type Origins [5]uint64

// The token counts of Collector.Origins.
const (
	Inputs = iota
	Outputs
	Reasonings
)

// ranged are the quantities that get confidence intervals.
var ranged = []ID{TTFT, TTFO, TTST, Latency, ITL, PerUser, OutputLength}

// New makes an empty collector.
func New(o Options) *Collector {
	c := &Collector{o: o, trails: map[ID]*stats.Trail{}}
	if len(o.Goodput) > 0 {
		c.goodness = stats.NewTrail()
	}
	for i := range c.series {
		c.series[i].Limit = exactLimit
	}
	c.gaps.Limit, c.perToken.Limit, c.opening.Limit = exactLimit, exactLimit, exactLimit
	for _, id := range ranged {
		c.trails[id] = stats.NewTrail(intervalPercentiles...)
	}
	return c
}

// Add adds one sample and returns its values.
func (c *Collector) Add(s *llm.Sample) (Values, bool) {
	if c.began == 0 || s.Sent < c.began {
		c.began = s.Sent
	}
	c.ended = max(c.ended, s.End)
	if s.End > s.Sent {
		c.busyNs += s.End - s.Sent
	}
	v, ok := Of(s, c.o.Open)
	if !ok {
		if s.Cut || s.Class == record.Canceled {
			c.cut++
		} else {
			c.failed++
			c.judged(false)
		}
		return v, false
	}
	c.ok++
	for id := range v {
		if !math.IsNaN(v[id]) { // NaN: the request has no such value
			c.series[id].Add(v[id])
		}
	}
	for id, t := range c.trails {
		t.Add(v[id])
	}
	c.pool(s)
	c.from[Inputs][s.Input.From]++
	c.from[Outputs][s.Output.From]++
	c.from[Reasonings][s.Reasoning.From]++
	c.judged(meets(c.o.Goodput, &v))
	if mismatch(v[OutputLength], v[Asked]) {
		c.mismatched++
	}
	c.checks.add(s, &v)
	if v[PromptDiff] > discrepancy || v[CompletionDiff] > discrepancy {
		c.disagree++
	}
	if sent := max(s.Sent, c.o.From); c.firstSent == 0 || sent < c.firstSent {
		c.firstSent = sent
	}
	end := max(c.lastEnd, s.Chunks[len(s.Chunks)-1].At)
	before := c.lastEnd
	if c.ok == 1 {
		before = max(s.Sent, c.o.From)
	}
	c.flow.Add(seconds(end-before), 1, value(v[InputLength]), value(v[OutputLength]))
	c.lastEnd = end
	return v, true
}

// judged counts a request that was held to the bounds of goodput.
func (c *Collector) judged(good bool) {
	if c.goodness == nil {
		return
	}
	if good {
		c.good++
		c.goodness.Add(1)
	} else {
		c.goodness.Add(0)
	}
}

// pool adds the gaps between chunks.
func (c *Collector) pool(s *llm.Sample) {
	if !s.Streamed {
		return
	}
	if first := s.Chunks[0].At; s.Headers > 0 && s.Headers < first {
		c.opening.Add(millis(first - s.Headers))
	}
	for i := 1; i < len(s.Chunks); i++ {
		gap := millis(s.Chunks[i].At - s.Chunks[i-1].At)
		c.gaps.Add(gap)
		if n := s.Chunks[i].Tokens; n > 0 {
			c.perToken.AddN(gap/float64(n), uint64(n))
		}
	}
}

// Requests is the number of complete responses.
func (c *Collector) Requests() uint64 { return c.ok }

// Failed is the number of requests that failed.
func (c *Collector) Failed() uint64 { return c.failed }

// Cut is the number of requests that the client canceled.
func (c *Collector) Cut() uint64 { return c.cut }

// Origins returns the sources of the counts of Inputs, Outputs or Reasonings.
func (c *Collector) Origins(which int) Origins { return c.from[which] }

// Sum and Mean are of the values of one quantity; Mean is 0 if there are none.
func (c *Collector) Sum(id ID) float64 { return c.series[id].Sum() }

// Mean is the average of a quantity.
func (c *Collector) Mean(id ID) float64 { return c.series[id].Mean() }

// RecentMedian is the median of the latest values of a quantity, cheap enough for a progress line; 0 if there are none.
func (c *Collector) RecentMedian(id ID) float64 {
	if c.series[id].Count() == 0 {
		return 0
	}
	return c.series[id].RecentMedian(1000)
}

// Quantile is a percentile of a quantity.
func (c *Collector) Quantile(id ID, p float64) float64 {
	return c.series[id].Quantiles(p)[0]
}

// Duration is the time from the first send to the last chunk of complete responses, in seconds.
func (c *Collector) Duration() float64 { return seconds(c.lastEnd - c.firstSent) }

// Span returns the start and end of Duration, as readings of clock.Now.
func (c *Collector) Span() (from, to int64) { return c.firstSent, c.lastEnd }

// Metrics computes all metrics. It omits quantities without a value.
func (c *Collector) Metrics() []result.Metric {
	var out []result.Metric
	for _, id := range IDs() {
		if s := &c.series[id]; s.Count() > 0 {
			out = append(out, c.metric(definitions[id], s, c.trails[id]))
		}
		if id == ITL {
			out = append(out, c.pools()...)
		}
	}
	return append(out, c.totals()...)
}

func (c *Collector) metric(d Definition, s *series, t *stats.Trail) result.Metric {
	m := distribution(d, s)
	if t != nil && c.o.Level > 0 && s.Count() >= minIntervals {
		measure.AddIntervals(&m, t, s, c.inFlight(), c.o.Level)
	}
	return m
}

func (c *Collector) pools() []result.Metric {
	var out []result.Metric
	vllm := series{Limit: exactLimit}
	vllm.Merge(&c.gaps)
	vllm.Merge(&c.opening)
	for _, p := range []struct {
		d Definition
		s *series
	}{
		{Definition{Tag: "inter_chunk_latency", Name: "Inter Chunk Latency", Unit: ms}, &c.gaps},
		{Definition{Tag: "per_token_latency", Name: "Per Token Latency", Unit: ms}, &c.perToken},
		{Definition{Tag: "vllm_itl", Name: "ITL (vLLM)", Unit: ms}, &vllm},
	} {
		if p.s.Count() > 0 {
			out = append(out, c.metric(p.d, p.s, nil))
		}
	}
	return out
}

// totals are the numbers of the run as a whole.
func (c *Collector) totals() []result.Metric {
	var out []result.Metric
	add := func(tag, name, unit string, v float64, higher bool) {
		out = append(out, result.Metric{Tag: tag, Name: name, Unit: unit, Avg: v, Higher: higher})
	}
	d := c.Duration()
	if d > 0 {
		out = c.throughputs(d)
	}
	if len(c.o.Goodput) > 0 {
		add("good_request_count", "Good Request Count", "requests", float64(c.good), true)
		if d > 0 {
			add("goodput", "Goodput", "requests/sec", float64(c.good)/d, true)
		}
		if n := c.ok + c.failed; n > 0 {
			add("good_request_fraction", "Good Request Fraction", "ratio", float64(c.good)/float64(n), true)
			out[len(out)-1].Interval = c.goodInterval(float64(n))
		}
	}
	if wall := seconds(c.ended - c.began); wall > 0 {
		add("effective_concurrency", "Effective Concurrency", "requests", seconds(c.busyNs)/wall, false)
	}
	add("request_count", "Request Count", "requests", float64(c.ok), false)
	if c.failed > 0 {
		add("error_request_count", "Error Request Count", "requests", float64(c.failed), false)
	}
	add("completed_request_count", "Completed Requests", "requests", float64(c.ok+c.failed), false)
	if n := c.ok + c.failed; n > 0 {
		add("request_error_rate", "Request Error Rate", percent, 100*float64(c.failed)/float64(n), false)
	}
	if c.cut > 0 {
		add("canceled_request_count", "Canceled Requests", "requests", float64(c.cut), false)
	}
	add("benchmark_duration", "Benchmark Duration", "sec", d, false)
	return append(out, c.sums()...)
}

// throughputs are requests and tokens per second, with their intervals.
func (c *Collector) throughputs(d float64) []result.Metric {
	isl, osl := &c.series[InputLength], &c.series[OutputLength]
	var out []result.Metric
	for _, t := range []struct {
		tag, name, unit string
		known           bool
		sum             float64
		columns         []int // of the flow
	}{
		{"request_throughput", "Request Throughput", "requests/sec", true, float64(c.ok), []int{flowRequests}},
		{"input_token_throughput", "Input Token Throughput", "tokens/sec", isl.Count() > 0, isl.Sum(), []int{flowInput}},
		{"output_token_throughput", "Output Token Throughput", "tokens/sec", osl.Count() > 0, osl.Sum(), []int{flowOutput}},
		{"total_token_throughput", "Total Token Throughput", "tokens/sec", isl.Count() > 0 && osl.Count() > 0, isl.Sum() + osl.Sum(), []int{flowInput, flowOutput}},
	} {
		if !t.known {
			continue
		}
		m := result.Metric{Tag: t.tag, Name: t.name, Unit: t.unit, Avg: t.sum / d, Higher: true}
		if c.o.Level > 0 && c.ok >= minIntervals {
			if b, ok := c.flow.RatioBounds(flowTime, c.inFlight(), c.o.Level, t.columns...); ok {
				m.Interval = measure.Around(b, m.Avg, c.o.Level)
			}
		}
		out = append(out, m)
	}
	return out
}

// adjusted are the latencies for which Adjusted computes a distribution that includes failures.
var adjusted = []ID{TTFT, Latency, ITL, Decode}

// Adjusted returns latencies in which every failure counts as infinite, as in AIPerf. There are none if no request failed. Values
// may be infinite.
func (c *Collector) Adjusted() []result.Metric {
	if c.failed == 0 {
		return nil
	}
	var out []result.Metric
	for _, id := range adjusted {
		s := &c.series[id]
		if s.Count() == 0 {
			continue
		}
		d := definitions[id]
		inf := math.Inf(1)
		n := s.Count() + c.failed
		m := result.Metric{
			Tag: "adj_" + d.Tag, Name: d.Name + " (error-adjusted)", Unit: d.Unit, Avg: inf, Count: n, Sum: inf, Min: s.Min(), Max: inf, Std: math.NaN(),
		}
		rank := s.Ranks()
		for _, p := range Percentiles {
			v := inf
			if k := uint64(math.RoundToEven(p / 100 * float64(n-1))); k < s.Count() {
				v = rank(int(k))
			}
			m.Quantiles = append(m.Quantiles, result.Quantile{P: p, V: v})
		}
		out = append(out, m)
	}
	return out
}

// sums are totals in tokens, and wall-clock times.
func (c *Collector) sums() []result.Metric {
	var out []result.Metric
	for _, t := range []struct {
		tag, name string
		id        ID
	}{
		{"total_isl", "Total Input Sequence Length", InputLength},
		{"total_osl", "Total Output Sequence Length", OutputLength},
		{"total_output_tokens", "Total Output Tokens", OutputTokens},
		{"total_reasoning_tokens", "Total Reasoning Tokens", ReasoningTokens},
		{"total_usage_prompt_tokens", "Total Usage Prompt Tokens", UsagePrompt},
		{"total_usage_completion_tokens", "Total Usage Completion Tokens", UsageCompletion},
		{"total_usage_total_tokens", "Total Usage Total Tokens", UsageTotal},
		{"total_usage_prompt_cache_read_tokens", "Total Usage Prompt Cache Read Tokens", UsageCached},
	} {
		if s := &c.series[t.id]; s.Count() > 0 {
			out = append(out, result.Metric{Tag: t.tag, Name: t.name, Unit: tokens, Avg: s.Sum()})
		}
	}
	if p := c.series[UsagePrompt].Sum(); p > 0 && c.series[UsageCached].Count() > 0 {
		out = append(out, result.Metric{
			Tag: "overall_usage_prompt_cache_read_pct", Name: "Overall Usage Prompt Cache Read %", Unit: percent,
			Avg: 100 * c.series[UsageCached].Sum() / p,
		})
	}
	if c.series[AskedDiff].Count() > 0 {
		out = append(out, result.Metric{Tag: "osl_mismatch_count", Name: "OSL Mismatch Count", Unit: "requests", Avg: float64(c.mismatched)})
	}
	if c.series[PromptDiff].Count()+c.series[CompletionDiff].Count() > 0 {
		out = append(out, result.Metric{Tag: "usage_discrepancy_count", Name: "Usage Discrepancy Count", Unit: "requests", Avg: float64(c.disagree)})
	}
	if c.ok > 0 {
		out = append(out,
			result.Metric{Tag: "min_request_timestamp", Name: "Minimum Request Timestamp", Unit: "ns", Avg: float64(clock.Wall(c.firstSent))},
			result.Metric{Tag: "max_response_timestamp", Name: "Maximum Response Timestamp", Unit: "ns", Avg: float64(clock.Wall(c.lastEnd))})
	}
	return out
}

// Find finds a metric by its tag.
func Find(list []result.Metric, tag string) (result.Metric, bool) {
	i := slices.IndexFunc(list, func(m result.Metric) bool { return m.Tag == tag })
	if i < 0 {
		return result.Metric{}, false
	}
	return list[i], true
}
