package metric

import "github.com/redline-bench/redline/internal/result"

// Sample returns every metric that a collector with these options can have, to check names before a run. Their values say
// nothing. streamed: responses come token by token.
func Sample(o Options, streamed bool) []result.Metric {
	c := New(o)
	for i := range c.series {
		if streamed || !onlyStreamed[ID(i)] {
			c.series[i].Add(1)
		}
	}
	if streamed {
		for _, s := range []*series{&c.gaps, &c.perToken, &c.opening} {
			s.Add(1)
		}
	}
	c.ok, c.failed, c.cut, c.lastEnd, c.ended = 1, 1, 1, 1, 1
	return append(c.Metrics(), c.Adjusted()...)
}

// onlyStreamed are the quantities that need a streamed response.
var onlyStreamed = map[ID]bool{
	TTFT: true, TTFO: true, TTST: true, ITL: true, PerUser: true, Decode: true, Prefill: true, TTFTSent: true, VLLMFirst: true,
	VLLMPerToken: true, GuideITL: true,
}
