package find_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/stats"
)

// constant is a server that answers in 50 ms up to a load, and in 400 ms above it. more may change what is observed.
func constant(limit float64, more func(step find.Step, o *find.Observation)) func(find.Step, bool) find.Observation {
	return func(step find.Step, _ bool) find.Observation {
		if step.Do == find.Drain {
			return find.Observation{Elapsed: time.Second}
		}
		value := 50.0
		if step.Load > limit {
			value = 400
		}
		n := int(step.Load * step.At.Seconds())
		iv := interval(stats.Bounds{Low: value - 1, High: value + 1}, value)
		o := find.Observation{Elapsed: step.At, Requests: n, Readings: []find.Reading{{Value: value, Unit: "ms", Count: n, Interval: iv}}}
		if more != nil {
			more(step, &o)
		}
		return o
	}
}

// A client that is the limit at a higher load does not void the loads that held below it.
func TestAClientLimitKeepsTheLoadsBelow(t *testing.T) {
	s := newSearch(t, find.Config{Tiers: []find.Tier{{Objectives: rules(t, "p95<100ms")}}, Start: 10, Lowest: 1, Budget: 90 * time.Second})
	a, took := play(s, constant(1e9, func(step find.Step, o *find.Observation) {
		if step.Load > 60 {
			o.ClientLimit = "the client used 2 of 2 cores"
		}
	}))
	c := a.Capacities[0]
	if c.Outcome != find.ClientLimit || c.Value < 30 || c.Value > 60 || c.Client == nil || c.Client.Load <= 60 || took > 95*time.Second {
		t.Errorf("%s, %g requests/s, client %+v, %v", c.Outcome, c.Value, c.Client, took)
	}
}

// A client that was disturbed once, at the highest load, is no limit, and the load is not probed again and again.
func TestADisturbedClientIsNoLimit(t *testing.T) {
	s := newSearch(t, find.Config{Tiers: []find.Tier{{Objectives: rules(t, "p95<100ms")}}, Start: 10, Lowest: 1, Highest: 40, Budget: 5 * time.Minute})
	disturbed := false
	a, _ := play(s, constant(1e9, func(step find.Step, o *find.Observation) {
		if step.Load == 40 && !disturbed {
			disturbed, o.ClientLimit = true, "the client stood still"
		}
	}))
	if c := a.Capacities[0]; c.Outcome != find.AllHold || c.Value != 40 || len(a.Probes) > 8 {
		t.Errorf("%s, %g requests/s after %d probes", c.Outcome, c.Value, len(a.Probes))
	}
}

// An overload is a backlog that grew, not a server that went down, and the load below it stays the answer.
func TestABacklogThatGrowsIsNoDeadServer(t *testing.T) {
	s := newSearch(t, find.Config{Tiers: []find.Tier{{Objectives: rules(t, "ttft.p95<100ms")}}, Start: 10, Lowest: 1, Budget: 60 * time.Second})
	a, took := play(s, constant(1e9, func(step find.Step, o *find.Observation) {
		if step.Load > 30 {
			o.Backlog = o.Requests / 2
			o.Requests -= o.Backlog
		}
	}))
	c := a.Capacities[0]
	if c.Value < 15 || c.Failing == nil || c.Binding != find.BacklogGrew || !strings.Contains(c.Failing.Judgments[0].Why, "the backlog grew") || took > 65*time.Second {
		t.Errorf("%g requests/s, binding %q, %v", c.Value, c.Binding, took)
	}
}

// Whole loads are told apart exactly: the answer is next to a load that fails.
func TestWholeLoadsAreExact(t *testing.T) {
	for limit := 1.0; limit <= 20; limit++ {
		s := newSearch(t, find.Config{Tiers: []find.Tier{{Objectives: rules(t, "avg<100ms")}}, Start: 1, Lowest: 1, Highest: 64, Whole: true})
		a, _ := play(s, constant(limit, nil))
		if c := a.Capacities[0]; c.Value != limit || c.Interval.Low != limit || c.Interval.High != limit+1 || len(a.Probes) > 15 {
			t.Errorf("%g in flight (%g to %g), want %g; %d probes", c.Value, c.Interval.Low, c.Interval.High, limit, len(a.Probes))
		}
	}
}
