package profile

import (
	"strings"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
)

// sample has every number that a run of the plan can have.
func sample(pl *plan.Plan) *gate.Sample {
	streamed := pl.Target.Streaming || kind.Of(pl.Target.Kind).Streams
	return &gate.Sample{Level: measure.Sample(&pl.Measure, streamed), Values: profile.Values(&pl.Load), Hint: hint}
}

// hint says what is missing for the number of a rule.
func hint(r *gate.Rule) string {
	if strings.HasPrefix(r.Name, "first.") {
		return "only streamed responses have it; add --streaming"
	}
	return ""
}
