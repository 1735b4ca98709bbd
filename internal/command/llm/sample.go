package llm

import (
	"strings"

	"github.com/redline-bench/redline/internal/gate"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// sample has every number that a run with these options can have.
func (p *Plan) sample(goodput []metric.Objective) *gate.Sample {
	lv := measure.Sample(nil, true)
	lv.Server = nil // the server's counters are not read
	lv.Metrics = metric.Sample(metric.Options{Goodput: goodput}, p.streams())
	return &gate.Sample{Level: lv, Hint: p.hint}
}

// streams tells whether responses come token by token, as far as the options say.
func (p *Plan) streams() bool {
	k := api.Kind(p.Kind)
	return p.Streaming || k == api.Raw || k.GRPC() && !p.NoStream
}

// hint says what is missing for the number of a rule.
func (p *Plan) hint(r *gate.Rule) string {
	all := &result.Level{Metrics: metric.Sample(metric.Options{Goodput: make([]metric.Objective, 1)}, true)}
	switch _, known := all.Read(r.Name); {
	case strings.HasPrefix(r.Name, "good"):
		return "give the bounds of good requests with --goodput 'ttft:200 itl:20'"
	case known && !p.streams():
		return "only streamed responses have it; add --streaming"
	}
	return ""
}
