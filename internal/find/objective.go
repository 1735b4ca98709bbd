package find

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/gate"
)

// ParseTier reads the objectives of a tier.
func ParseTier(name string, rules []string) (Tier, error) {
	t := Tier{Name: name}
	for _, text := range rules {
		r, err := gate.Parse(text)
		if err != nil {
			return t, err
		}
		t.Objectives = append(t.Objectives, r)
	}
	return t, nil
}

// LatencyLimit is the longest latency that an objective of the tier allows; 0 where none is about a latency. isLatency tells whether a
// metric is a latency, in milliseconds, that counts for the caller.
func (t *Tier) LatencyLimit(isLatency func(metric string) bool) time.Duration {
	var longest time.Duration
	for i := range t.Objectives {
		if r := &t.Objectives[i]; r.Op[0] == '<' && isLatency(r.Name) {
			longest = max(longest, time.Duration(r.Limit()*float64(time.Millisecond)))
		}
	}
	return longest
}

// CheckObjectives refuses rules that a search cannot have, or about numbers that the run cannot have.
func CheckObjectives(tiers []Tier, sample *gate.Sample) error {
	for i := range tiers {
		for j := range tiers[i].Objectives {
			r := &tiers[i].Objectives[j]
			if err := CheckObjective(r); err != nil {
				return err
			}
			if err := r.Fits(sample); err != nil {
				return fmt.Errorf("the objective %q: %w", r.Text, err)
			}
		}
	}
	return nil
}
