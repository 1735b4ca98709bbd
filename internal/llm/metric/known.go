package metric

import "github.com/redline-bench/redline/internal/result"

// Known are all metrics that a level can have, without values: rules are checked against them before a run. goodput tells
// whether bounds of goodput are given, streamed whether responses come token by token.
func Known(goodput, streamed bool) []result.Metric {
	var out []result.Metric
	for _, id := range IDs() {
		if d := definitions[id]; streamed || !onlyStreamed[id] {
			out = append(out, result.Metric{Tag: d.Tag, Unit: d.Unit, Higher: d.Higher, Dist: distribution(&series{})})
		}
	}
	if streamed {
		for _, tag := range []string{"inter_chunk_latency", "per_token_latency", "vllm_itl"} {
			out = append(out, result.Metric{Tag: tag, Unit: ms, Dist: distribution(&series{})})
		}
	}
	for _, tag := range []string{"input_token_throughput", "output_token_throughput", "total_token_throughput"} {
		out = append(out, result.Metric{Tag: tag, Unit: "tokens/sec", Higher: true})
	}
	out = append(out, result.Metric{Tag: "request_throughput", Unit: "requests/sec", Higher: true})
	if goodput {
		out = append(out, result.Metric{Tag: "goodput", Unit: "requests/sec", Higher: true},
			result.Metric{Tag: "good_request_fraction", Unit: "ratio", Higher: true})
	}
	return out
}

// onlyStreamed are the quantities that need a streamed response.
var onlyStreamed = map[ID]bool{
	TTFT: true, TTFO: true, TTST: true, ITL: true, PerUser: true, Decode: true, Prefill: true, TTFTSent: true, VLLMFirst: true,
	VLLMPerToken: true, GuideITL: true,
}
