package llm

import (
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
)

// showResponses gives every measured response of a level to what counts tokens and sends spans; nil counts none.
func showResponses(cfg *load.Config, lv *result.Level, to func(*result.Level, *telemetry.Response)) {
	if to == nil {
		return
	}
	other := cfg.Sample
	cfg.Sample = func(s *llm.Sample) {
		if other != nil {
			other(s)
		}
		if s.Warmup {
			return
		}
		r := telemetry.Response{
			Request: telemetry.Request{
				Outcome: s.Class.String(), Due: s.Due, Sent: s.Sent, First: s.Headers, End: s.End, Responses: uint32(len(s.Chunks)),
				Input: s.Input.Tokens, Output: s.Output.Tokens + s.Reasoning.Tokens,
			},
			Slot: s.Slot,
			Times: func(yield func(int64) bool) {
				for _, c := range s.Chunks {
					if !yield(c.At) {
						return
					}
				}
			},
		}
		if n := len(s.Chunks); n > 0 {
			r.FirstChunk, r.LastChunk = s.Chunks[0].At, s.Chunks[n-1].At
		}
		to(lv, &r)
	}
}
