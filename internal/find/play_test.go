package find_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
)

func newSearch(t *testing.T, conf find.Config) *find.Search {
	t.Helper()
	s, err := find.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a search with a function that observes. fresh tells that a load begins. It returns the time of all steps.
func play(s *find.Search, observe func(step find.Step, fresh bool) find.Observation) (find.Answer, time.Duration) {
	var began, now time.Duration // of the step
	var before find.Step
	for step := s.Step(); step.Do != find.Finish; {
		fresh := step.Do != before.Do || step.Probe != before.Probe
		if fresh {
			began = now
		}
		before = step
		o := observe(step, fresh)
		now = began + o.Elapsed
		o.Now = now
		step = s.Observe(o)
	}
	return s.Answer(), now
}

func rules(t *testing.T, texts ...string) (out []gate.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := gate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
