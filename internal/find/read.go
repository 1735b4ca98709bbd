package find

import (
	"math"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Readings are the values of the objectives' metrics in a measured level, with their intervals.
func Readings(lv *result.Level, objectives []gate.Rule) []Reading {
	out := make([]Reading, len(objectives))
	for i := range objectives {
		out[i] = read(lv, &objectives[i])
	}
	return out
}

func read(lv *result.Level, rule *gate.Rule) Reading {
	lv = lv.Part(rule.Class)
	got, _, err := rule.Check(lv)
	if lv.Client.Requests == 0 && rule.Name != "error_rate" && rule.Name != "failed" { // a value of no request is 0, which would hold
		return Reading{Missing: true}
	}
	if err != nil && !gate.TooFew(err) || math.IsNaN(got.Value) { // the interval says what few requests are worth
		return Reading{Missing: true}
	}
	r := Reading{Value: got.Value, Unit: got.Unit, Count: int(lv.Client.Requests), Interval: got.Interval}
	if rule.Name == "error_rate" {
		r.Interval = errorInterval(lv)
		r.Count += int(lv.Client.Failed)
	}
	return r
}

// errorInterval is the interval of the share of failed requests, in percent. Failures are taken as independent.
func errorInterval(lv *result.Level) *result.Interval {
	c := &lv.Client
	b := stats.ShareBounds(float64(c.Failed), float64(c.Requests+c.Failed), Level)
	return &result.Interval{Low: 100 * b.Low, High: 100 * b.High, Level: Level}
}
