package find

import (
	"fmt"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
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

// Traffic knows which numbers a load has.
type Traffic interface {
	// Known is a level with every number that a rule can be about. Hint explains why a rule's number is missing, if it can.
	Known() *result.Level
	Hint(r *gate.Rule) string
}

// CheckRules refuses rules about numbers that the traffic cannot have.
func CheckRules(tiers []Tier, t Traffic) error {
	known := t.Known()
	for i := range tiers {
		for j := range tiers[i].Objectives {
			r := &tiers[i].Objectives[j]
			err := r.Fits(known, nil)
			if err == nil {
				continue
			}
			if hint := t.Hint(r); hint != "" {
				return fmt.Errorf("the objective %q: %s", r.Text, hint)
			}
			if _, known := known.Read(r.Name); !known {
				return fmt.Errorf("the objective %q: unknown metric %q; use p50 to p99.99, avg, max, throughput, error_rate or, with llm, ttft.p99, itl.avg and so on", r.Text, r.Name)
			}
			return fmt.Errorf("the objective %q: %w", r.Text, err)
		}
	}
	return nil
}
