// Package metric turns the samples of a language-model run into numbers. It is pure: no clock, no goroutine, no I/O.
//
// Of computes the values of one request; a Collector collects them and computes distributions and totals. The definitions are
// AIPerf's, so that numbers can be compared. If vLLM's benchmark or GuideLLM define a quantity differently, their version is
// reported too, under their name. docs/metrics.md has every formula.
//
// Only complete responses have values. Failed and canceled requests are only counted.
package metric

import (
	"math"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// ID is a quantity that has a value for each request.
type ID int

// The quantities, in the order of reports.
const (
	TTFT ID = iota
	TTFO
	TTST
	Latency
	ITL
	PerUser
	EndToEnd
	Decode
	Prefill
	InputLength
	UsagePrompt
	OutputLength
	OutputTokens
	ReasoningTokens
	Thinking
	Asked
	AskedDiff
	UsageCompletion
	UsageTotal
	UsageReasoning
	UsageCached
	PromptDiff
	CompletionDiff
	TokenizerDiff
	TTFTSent
	LatencySent
	Lag
	VLLMFirst
	VLLMPerToken
	VLLMEnd
	GuidePerToken
	GuideITL
	GuideEnd
	numIDs
)

// Definition has the names and the unit of a quantity.
type Definition struct {
	Tag, Name, Unit string
	Higher          bool // a higher value is better
	// Alias are short names for --goodput and --until.
	Alias []string
	// Plain quantities are shown without -v.
	Plain bool
}

const (
	ms      = "ms"
	tokens  = "tokens"
	perUser = "tokens/sec/user"
	percent = "%"
)

var definitions = [numIDs]Definition{
	TTFT:            {Tag: "time_to_first_token", Name: "Time to First Token", Unit: ms, Alias: []string{"ttft"}, Plain: true},
	TTFO:            {Tag: "time_to_first_output_token", Name: "Time to First Output Token", Unit: ms, Alias: []string{"ttfo", "ttfot"}, Plain: true},
	TTST:            {Tag: "time_to_second_token", Name: "Time to Second Token", Unit: ms, Alias: []string{"ttst"}, Plain: true},
	Latency:         {Tag: "request_latency", Name: "Request Latency", Unit: ms, Alias: []string{"latency", "e2e", "e2el"}, Plain: true},
	ITL:             {Tag: "inter_token_latency", Name: "Inter Token Latency", Unit: ms, Alias: []string{"itl", "tpot"}, Plain: true},
	PerUser:         {Tag: "output_token_throughput_per_user", Name: "Output Token Throughput Per User", Unit: perUser, Higher: true, Plain: true},
	EndToEnd:        {Tag: "e2e_output_token_throughput", Name: "E2E Output Token Throughput", Unit: perUser, Higher: true},
	Decode:          {Tag: "decode_duration", Name: "Decode Duration", Unit: ms},
	Prefill:         {Tag: "prefill_throughput_per_user", Name: "Prefill Throughput Per User", Unit: perUser, Higher: true},
	InputLength:     {Tag: "input_sequence_length", Name: "Input Sequence Length", Unit: tokens, Alias: []string{"isl"}, Plain: true},
	UsagePrompt:     {Tag: "usage_prompt_tokens", Name: "Usage Prompt Tokens", Unit: tokens, Plain: true},
	OutputLength:    {Tag: "output_sequence_length", Name: "Output Sequence Length", Unit: tokens, Alias: []string{"osl"}, Plain: true},
	OutputTokens:    {Tag: "output_token_count", Name: "Output Token Count", Unit: tokens},
	ReasoningTokens: {Tag: "reasoning_token_count", Name: "Reasoning Token Count", Unit: tokens, Plain: true},
	Thinking:        {Tag: "thinking_efficiency", Name: "Thinking Efficiency", Unit: "ratio"},
	Asked:           {Tag: "requested_osl", Name: "Requested OSL", Unit: tokens},
	AskedDiff:       {Tag: "osl_mismatch_diff_pct", Name: "OSL Mismatch Diff %", Unit: percent},
	UsageCompletion: {Tag: "usage_completion_tokens", Name: "Usage Completion Tokens", Unit: tokens},
	UsageTotal:      {Tag: "usage_total_tokens", Name: "Usage Total Tokens", Unit: tokens},
	UsageReasoning:  {Tag: "usage_reasoning_tokens", Name: "Usage Reasoning Tokens", Unit: tokens},
	UsageCached:     {Tag: "usage_prompt_cache_read_tokens", Name: "Usage Prompt Cache Read Tokens", Unit: tokens, Plain: true},
	PromptDiff:      {Tag: "usage_prompt_tokens_diff_pct", Name: "Usage Prompt Diff %", Unit: percent},
	CompletionDiff:  {Tag: "usage_completion_tokens_diff_pct", Name: "Usage Completion Diff %", Unit: percent},
	TokenizerDiff:   {Tag: "tokenizer_output_diff_pct", Name: "Tokenizer Output Diff %", Unit: percent},
	TTFTSent:        {Tag: "time_to_first_token_from_send", Name: "Time to First Token (from send)", Unit: ms, Plain: true},
	LatencySent:     {Tag: "request_latency_from_send", Name: "Request Latency (from send)", Unit: ms, Plain: true},
	Lag:             {Tag: "send_lag", Name: "Send Lag", Unit: ms, Plain: true},
	VLLMFirst:       {Tag: "vllm_ttft", Name: "TTFT (vLLM)", Unit: ms},
	VLLMPerToken:    {Tag: "vllm_tpot", Name: "TPOT (vLLM)", Unit: ms},
	VLLMEnd:         {Tag: "vllm_e2el", Name: "E2EL (vLLM)", Unit: ms},
	GuidePerToken:   {Tag: "guidellm_tpot", Name: "Time per Output Token (GuideLLM)", Unit: ms},
	GuideITL:        {Tag: "guidellm_itl", Name: "Inter Token Latency (GuideLLM)", Unit: ms},
	GuideEnd:        {Tag: "guidellm_request_latency", Name: "Request Latency (GuideLLM)", Unit: ms},
}

// Definition is the name of a quantity.
func (id ID) Definition() Definition { return definitions[id] }

// IDs lists all quantities.
func IDs() []ID {
	out := make([]ID, numIDs)
	for i := range out {
		out[i] = ID(i)
	}
	return out
}

// Values are the quantities of one request by ID; NaN if the request does not have one.
type Values [numIDs]float64

// Of computes the values of a complete response. With open, latencies start at the due time, so that waiting before the send is
// not hidden. ok is false for failed and canceled requests.
func Of(s *llm.Sample, open bool) (v Values, ok bool) {
	for i := range v {
		v[i] = math.NaN()
	}
	if s.Class != record.OK || s.Cut || len(s.Chunks) == 0 {
		return v, false
	}
	from := s.Sent
	if open {
		from = s.Due
		v[Lag] = millis(s.Sent - s.Due)
	}
	first, last := s.Chunks[0].At, s.Chunks[len(s.Chunks)-1].At
	v[Latency] = millis(last - from)
	if open {
		v[LatencySent] = millis(last - s.Sent)
	}
	v.counts(s)
	v.usage(s)
	if s.Streamed {
		v.stream(s, from, open)
	}
	if v[OutputLength] > 0 && last > from {
		v[EndToEnd] = v[OutputLength] / seconds(last-from)
		v[GuidePerToken] = v[Latency] / v[OutputLength]
	}
	if s.Last > 0 {
		v[VLLMEnd] = millis(max(s.Last, last) - s.Sent)
	}
	if s.End > 0 {
		v[GuideEnd] = millis(max(s.End, last) - s.Sent)
	}
	if n := v[OutputLength]; n > 1 && s.Streamed {
		v[VLLMPerToken] = (v[VLLMEnd] - v[VLLMFirst]) / (n - 1)
		v[GuideITL] = millis(last-first) / (n - 1)
	}
	return v, true
}

// stream adds what only streamed responses have.
func (v *Values) stream(s *llm.Sample, from int64, open bool) {
	first, last := s.Chunks[0].At, s.Chunks[len(s.Chunks)-1].At
	v[TTFT] = millis(first - from)
	if open {
		v[TTFTSent] = millis(first - s.Sent)
	}
	if s.Headers > 0 {
		v[VLLMFirst] = millis(s.Headers - s.Sent)
	} else {
		v[VLLMFirst] = millis(first - s.Sent)
	}
	if len(s.Chunks) > 1 {
		v[TTST] = millis(s.Chunks[1].At - first)
	}
	for _, c := range s.Chunks {
		if c.Kind != llm.Thought {
			v[TTFO] = millis(c.At - from)
			break
		}
	}
	v[Decode] = millis(last - first)
	// The time between the first and the last chunk was needed only for the tokens after the first chunk.
	k := 1.0
	if n := s.Chunks[0].Tokens; n > 0 {
		k = float64(n)
	}
	if n := v[OutputLength]; n >= 2 && n > k {
		v[ITL] = millis(last-first) / (n - k)
		if v[ITL] > 0 {
			v[PerUser] = 1000 / v[ITL]
		}
	}
	if v[InputLength] > 0 && v[TTFT] > 0 {
		v[Prefill] = v[InputLength] / (v[TTFT] / 1000)
	}
}

// counts adds lengths in tokens.
func (v *Values) counts(s *llm.Sample) {
	if s.Input.From != llm.Unknown {
		v[InputLength] = float64(s.Input.Tokens)
	}
	if s.Output.From != llm.Unknown {
		v[OutputTokens] = float64(s.Output.Tokens)
		v[OutputLength] = float64(s.Output.Tokens)
	}
	if s.Reasoning.From != llm.Unknown && s.Output.From != llm.Unknown {
		v[ReasoningTokens] = float64(s.Reasoning.Tokens)
		v[OutputLength] += float64(s.Reasoning.Tokens)
		if s.Output.Tokens > 0 {
			v[Thinking] = v[ReasoningTokens] / v[OutputTokens]
		}
	}
	if s.Asked > 0 {
		v[Asked] = float64(s.Asked)
		v[AskedDiff] = (v[OutputLength] - v[Asked]) / v[Asked] * 100
	}
}

// usage adds the server's counts and their difference from ours.
func (v *Values) usage(s *llm.Sample) {
	u := s.Usage
	if u == nil {
		return
	}
	set := func(id ID, n int) {
		if n >= 0 {
			v[id] = float64(n)
		}
	}
	set(UsagePrompt, u.Prompt)
	set(UsageCompletion, u.Completion)
	set(UsageTotal, u.Total)
	set(UsageReasoning, u.Reasoning)
	set(UsageCached, u.Cached)
	if s.Own != nil {
		v[PromptDiff] = difference(u.Prompt, s.Own.Prompt)
		v[CompletionDiff] = difference(u.Completion, s.Own.Output)
		if u.Completion > 0 && s.Own.Output > 0 {
			v[TokenizerDiff] = 100 * (float64(s.Own.Output)/float64(u.Completion) - 1)
		}
	}
}

// difference is how far the server's count is from ours, in percent of ours.
func difference(server, own int) float64 {
	if server < 0 || own <= 0 {
		return math.NaN()
	}
	return math.Abs(float64(server-own)) / float64(own) * 100
}

func millis(ns int64) float64  { return float64(ns) / 1e6 }
func seconds(ns int64) float64 { return float64(ns) / 1e9 }
