package find_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
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
	var took time.Duration
	var before find.Step
	for step := s.Step(); step.Do != find.Finish; {
		fresh := step.Do != before.Do || step.Probe != before.Probe
		before = step
		o := observe(step, fresh)
		if step = s.Observe(o); step.Do != before.Do || step.Probe != before.Probe {
			took += o.Elapsed
		}
	}
	return s.Answer(), took
}

// model is a server without chance: the latency in ms by load, known to 1 %.
type model struct {
	latency func(load float64) float64
	width   float64                                   // relative half width of intervals
	change  func(o *find.Observation, step find.Step) // changes what is observed
	steps   []find.Step
}

func (m *model) observe(step find.Step, fresh bool) find.Observation {
	if fresh {
		m.steps = append(m.steps, step)
	}
	v := m.latency(step.Load)
	width := m.width
	if width == 0 {
		width = 0.01
	}
	o := find.Observation{
		Elapsed: step.At, Requests: int(1000 * step.At.Seconds()),
		Readings: []find.Reading{
			{Value: v, Unit: "ms", Interval: &result.Interval{Low: v * (1 - width), High: v * (1 + width), Level: find.Level}},
			{Unit: "%", Interval: &result.Interval{High: 0.01, Level: find.Level}},
		},
	}
	if m.change != nil {
		m.change(&o, step)
	}
	return o
}

// linear is a latency of 1 ms for each unit of the load.
func linear(load float64) float64 { return load }

func config(t *testing.T, objectives ...string) find.Config {
	t.Helper()
	return find.Config{Tiers: []find.Tier{{Name: "all", Objectives: rules(t, objectives...)}}, Start: 20, Lowest: 1, Highest: 10_000}
}

func near(got, want float64) bool { return math.Abs(got/want-1) <= 0.05 }

func TestFindsTheCapacityAndWhatBinds(t *testing.T) {
	m := model{latency: linear}
	s := newSearch(t, config(t, "avg<300ms", "error_rate<0.1%"))
	if rest := s.Remaining(); rest < time.Minute || rest > 15*time.Minute {
		t.Errorf("%v are left at the start", rest)
	}
	a, took := play(s, m.observe)
	c := a.Capacities[0]
	if took < time.Minute || took > 5*time.Minute {
		t.Errorf("it took %v", took)
	}
	if a.State != find.Complete || c.Outcome != find.Found || !near(c.Value, 300) || !c.Confirmed || c.LimitedBy != "server" || c.Binding != "avg<300ms" {
		t.Errorf("%s %+v", a.State, c)
	}
	if iv := c.Interval; iv.Open || iv.Low > 300 || iv.High < 300 || !near(iv.High, 300) {
		t.Errorf("interval %+v", iv)
	}
	for _, p := range a.Probes {
		if p.Load == 0 || p.End == find.Running || len(p.Judgments) != 1 || p.Judgments[0].Why == "" {
			t.Errorf("%+v", p)
		}
	}
}

func TestWholeLoads(t *testing.T) {
	for _, limit := range []string{"1.5ms", "2.5ms", "7.5ms", "33.5ms", "100.5ms"} {
		conf := config(t, "avg<"+limit)
		conf.Whole, conf.Resolution = true, 0.001
		m := model{latency: linear, width: 0.001}
		a, _ := play(newSearch(t, conf), m.observe)
		r := conf.Tiers[0].Objectives[0]
		if c := a.Capacities[0]; c.Value != math.Floor(r.Limit()) {
			t.Errorf("avg<%s: %+v", limit, c)
		}
	}
	// No load lies between 2, which holds, and 3: one confirmation is enough.
	conf := config(t, "avg<2.5ms")
	conf.Whole = true
	m := model{latency: linear}
	a, _ := play(newSearch(t, conf), m.observe)
	confirmations := 0
	for _, p := range a.Probes {
		confirmations += count(p.Purpose == find.Confirm)
	}
	if c := a.Capacities[0]; c.Value != 2 || !c.Confirmed || confirmations != 1 {
		t.Errorf("%d confirmations of %+v", confirmations, c)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestObjectivesOutOfReach(t *testing.T) {
	f := func(rule string, want find.Outcome, value float64, limitedBy string) {
		t.Helper()
		conf := config(t, rule)
		conf.Lowest, conf.Highest = 10, 1000
		m := model{latency: linear}
		a, _ := play(newSearch(t, conf), m.observe)
		if c := a.Capacities[0]; a.State != find.Complete || c.Outcome != want || c.Value != value || c.LimitedBy != limitedBy {
			t.Errorf("%s: %+v", rule, c)
		}
	}
	f("avg<5ms", find.NoneHolds, 0, "server")
	f("avg<5s", find.AllHold, 1000, "")
	f("avg>5s", find.NoneHolds, 0, "server")
}

// The client's limit is never a capacity, but the server's is found where it lies below.
func TestClientLimit(t *testing.T) {
	f := func(limit float64, want find.Outcome, limitedBy string) {
		t.Helper()
		m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
			if step.Do == find.Run && step.Load > limit {
				o.ClientLimit = "all cores are busy"
			}
		}}
		a, _ := play(newSearch(t, config(t, "avg<300ms")), m.observe)
		c := a.Capacities[0]
		if c.Outcome != want || c.LimitedBy != limitedBy || (c.Value != 0) != (want == find.Found) {
			t.Errorf("%+v", c)
		}
		if want == find.ClientLimit && (!near(c.Interval.Low, limit) || !c.Interval.Open) {
			t.Errorf("interval %+v", c.Interval)
		}
	}
	f(200, find.ClientLimit, "client")
	f(340, find.Found, "server")
}

// Tiers share their probes: together they need fewer than apart.
func TestTiersShareProbes(t *testing.T) {
	conf := config(t)
	conf.Tiers = []find.Tier{{"strict", rules(t, "avg<100ms")}, {"loose", rules(t, "avg<150ms")}, {"both", rules(t, "avg<150ms", "error_rate<1%")}}
	m := model{latency: linear}
	s := newSearch(t, conf)
	if n := len(s.Objectives()); n != 3 {
		t.Fatalf("%d objectives", n)
	}
	reorder := func(step find.Step, fresh bool) find.Observation {
		o := m.observe(step, fresh)
		o.Readings = []find.Reading{o.Readings[0], o.Readings[0], o.Readings[1]}
		return o
	}
	a, _ := play(s, reorder)
	apart := 0
	for i, want := range []float64{100, 150, 150} {
		if c := a.Capacities[i]; c.Tier != conf.Tiers[i].Name || !near(c.Value, want) || !c.Confirmed {
			t.Errorf("%+v", c)
		}
		alone := config(t)
		alone.Tiers = conf.Tiers[i : i+1]
		one, _ := play(newSearch(t, alone), m.observe)
		apart += len(one.Probes)
	}
	if len(a.Probes) > apart*2/3 {
		t.Errorf("%d probes together, %d apart", len(a.Probes), apart)
	}
}

// An overload is cut, drained and followed by a check that lasts until the light load holds again.
func TestOverloadIsCutDrainedAndChecked(t *testing.T) {
	checks := 0
	m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
		switch {
		case step.Do == find.Drain && step.At < 3*time.Second:
			o.Backlog = 1
		case step.Do == find.Run && step.Load > 250:
			o.Backlog = int((step.Load - 250) * step.At.Seconds())
			o.Readings[0].Interval = nil
		case step.Do == find.Check && checks < 3:
			checks++
			o.Readings[0].Value = 1000
		}
	}}
	a, _ := play(newSearch(t, config(t, "avg<240ms")), m.observe)
	if c := a.Capacities[0]; c.Outcome != find.Found || !near(c.Value, 240) {
		t.Errorf("%+v", c)
	}
	var cut bool
	for i, step := range m.steps {
		p := a.Probes[step.Probe]
		if step.Do != find.Run || p.End != find.Overload {
			continue
		}
		cut = true
		if p.Load > 300 && p.Last.Elapsed > 10*time.Second || p.Unrecovered || !strings.Contains(p.Judgments[0].Why, "backlog") {
			t.Errorf("%+v", p)
		}
		if m.steps[i+1].Do != find.Drain || m.steps[i+2].Do != find.Check || m.steps[i+2].Load > 240 {
			t.Errorf("after the overload: %+v, %+v", m.steps[i+1], m.steps[i+2])
		}
	}
	if !cut || checks != 3 {
		t.Errorf("overload seen: %v, %d checks failed", cut, checks)
	}
}

// A server that every load overloads ends the search, and nothing is checked after the last probe.
func TestEveryLoadIsTooHigh(t *testing.T) {
	m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
		if step.Do != find.Drain {
			o.Backlog = int(1000 * step.At.Seconds())
			o.Readings[0].Value = 1000
		}
	}}
	a, _ := play(newSearch(t, config(t, "avg<240ms")), m.observe)
	if c := a.Capacities[0]; a.State != find.Complete || c.Outcome != find.NoneHolds || c.Binding != "avg<240ms" || !a.Probes[0].Unrecovered {
		t.Errorf("%s %+v", a.State, c)
	}
	for _, step := range m.steps {
		if step.Load > 10_000 || step.Do == find.Run && step.Purpose == "" {
			t.Errorf("%+v", step)
		}
	}
}

// Probes that lie are found out by later ones.
func TestContradictedDecisionsAreRevisited(t *testing.T) {
	f := func(name string, lie func(probe int, load float64) bool, latency float64) {
		t.Helper()
		m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
			if step.Do == find.Run && lie(step.Probe, step.Load) {
				o.Readings[0].Value = latency
				o.Readings[0].Interval = &result.Interval{Low: latency * 0.99, High: latency * 1.01, Level: find.Level}
			}
		}}
		a, _ := play(newSearch(t, config(t, "avg<100ms")), m.observe)
		if c := a.Capacities[0]; a.State != find.Complete || c.Outcome != find.Found || !near(c.Value, 100) {
			t.Errorf("%s: %s %+v", name, a.State, c)
		}
	}
	f("the first probe fails by chance", func(probe int, _ float64) bool { return probe == 0 }, 104)
	f("a load that is too high holds by chance", func(probe int, load float64) bool { return load > 110 && probe < 5 }, 98)
	f("the first confirmation fails by chance", func(probe int, load float64) bool { return probe == 9 }, 102)
}

// A server that dies ends the search; one that comes back does not hold the load at which it died.
func TestServerThatDies(t *testing.T) {
	f := func(comesBack bool, state find.State) {
		t.Helper()
		m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
			if step.Do == find.Run && step.Load > 200 || step.Do == find.Check && !comesBack {
				o.Down = "connection refused"
			}
		}}
		a, _ := play(newSearch(t, config(t, "avg<300ms")), m.observe)
		c := a.Capacities[0]
		if a.State != state || len(a.Probes) < 4 || (c.Outcome == find.Found) != comesBack {
			t.Errorf("%s, %s, %d probes, %+v", a.State, a.Reason, len(a.Probes), c)
		}
		if comesBack && !near(c.Value, 200) || !comesBack && !c.Interval.Open {
			t.Errorf("%+v", c)
		}
	}
	f(true, find.Complete)
	f(false, find.Failed)
}

// An interrupted search reports every probe, the running one included, and the bracket.
func TestInterruption(t *testing.T) {
	for stop := range 12 {
		s := newSearch(t, config(t, "avg<300ms"))
		m := model{latency: linear}
		a, _ := play(s, func(step find.Step, fresh bool) find.Observation {
			o := m.observe(step, fresh)
			if step.Probe == stop && step.Do == find.Run {
				s.Observe(o)
				s.Stop(find.Interrupted, "Ctrl-C")
			}
			return o
		})
		if len(a.Probes) != min(stop+1, len(m.steps)) {
			t.Errorf("stopped in probe %d: %d probes", stop, len(a.Probes))
		}
		c := a.Capacities[0]
		if a.State == find.Interrupted && (c.Value != 0 && c.Outcome == find.Open || a.Reason != "Ctrl-C" || s.Remaining() != 0) {
			t.Errorf("stopped in probe %d: %+v", stop, a)
		}
		if c.Interval.Low > 300 || !c.Interval.Open && c.Interval.High < 300 {
			t.Errorf("stopped in probe %d: %+v", stop, c.Interval)
		}
	}
}

// Requests that fail are no load that holds, also where no objective says so.
func TestFailedRequests(t *testing.T) {
	m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
		if step.Load > 50 {
			o.Failures = o.Requests / 20
		}
	}}
	a, _ := play(newSearch(t, config(t, "avg<300ms")), m.observe)
	if c := a.Capacities[0]; !near(c.Value, 50) || c.Binding != "error_rate<=1%" {
		t.Errorf("%+v", c)
	}
}

// What intervals cannot decide is judged by the values, and makes the interval of the answer wide.
func TestUndecidedProbes(t *testing.T) {
	m := model{latency: linear, width: 0.5}
	a, _ := play(newSearch(t, config(t, "avg<100ms")), m.observe)
	c := a.Capacities[0]
	if c.Outcome != find.Found || c.Confirmed || c.Value < 90 || c.Value > 100 || c.Interval.Low > 70 || !c.Interval.Open && c.Interval.High < 150 {
		t.Errorf("%+v", c)
	}
	m = model{latency: linear, change: func(o *find.Observation, _ find.Step) { o.Readings[0].Interval = nil }}
	a, _ = play(newSearch(t, config(t, "max<100ms")), m.observe)
	if c := a.Capacities[0]; !near(c.Value, 100) || c.Confirmed || c.Interval.Low != 0 || !c.Interval.Open {
		t.Errorf("without intervals: %+v", c)
	}
}

// A probe in which no request has ended goes on: it says nothing of the objectives. One in which none ever ends fails.
func TestProbesWithoutARequest(t *testing.T) {
	f := func(silent time.Duration, want find.Outcome) {
		t.Helper()
		m := model{latency: linear, change: func(o *find.Observation, _ find.Step) {
			if o.Elapsed < silent {
				o.Requests, o.Backlog = 0, 1
				for i := range o.Readings {
					o.Readings[i] = find.Reading{Missing: true}
				}
			}
		}}
		conf := config(t, "avg<100ms")
		conf.Settle, conf.MinTime, conf.MaxTime = time.Second, time.Second, 2*time.Second
		a, took := play(newSearch(t, conf), m.observe)
		if c := a.Capacities[0]; c.Outcome != want || took > time.Hour {
			t.Errorf("after %v: %+v", took, c)
		}
	}
	f(5*time.Second, find.Found)
	f(time.Hour, find.NoneHolds)
}

// Intervals that are wider than the values lead to an answer, also where the next lower load is far away.
func TestWideIntervalsOfWholeLoads(t *testing.T) {
	f := func(latency, width float64, want find.Outcome, value float64, confirmed bool) {
		t.Helper()
		m := model{latency: func(load float64) float64 { return latency * max(1, load-7) }, width: width}
		conf := config(t, "avg<100ms")
		conf.Whole, conf.Start, conf.Highest = true, 1, 8
		if value < 8 {
			conf.Highest = 1000
		}
		a, _ := play(newSearch(t, conf), m.observe)
		if c := a.Capacities[0]; a.State != find.Complete || c.Outcome != want || c.Value != value || c.Confirmed != confirmed || len(a.Probes) > 15 {
			t.Errorf("latency %g ± %g: %s after %d probes: %+v", latency, width*latency, a.State, len(a.Probes), c)
		}
	}
	f(0.05, 2.5, find.AllHold, 8, true)
	f(60, 1.5, find.Found, 7, false)
}

// An objective without an interval does not hide that another one is too near to its limit.
func TestObjectiveWithoutInterval(t *testing.T) {
	m := model{latency: linear, width: 0.05, change: func(o *find.Observation, _ find.Step) { o.Readings[1].Interval = nil }}
	a, _ := play(newSearch(t, config(t, "avg<100ms", "error_rate<0.1%")), m.observe)
	if c := a.Capacities[0]; c.Value > 99 || c.Value < 93 || c.Confirmed || c.Binding != "avg<100ms" {
		t.Errorf("%+v", c)
	}
}

// Latency is flat to a load of 64, and grows from there.
func TestKnee(t *testing.T) {
	m := model{latency: func(load float64) float64 { return 10 * math.Exp(math.Max(0, load-64)/20) }}
	conf := config(t, "avg<200ms")
	conf.Start = 8
	a, _ := play(newSearch(t, conf), m.observe)
	if c := a.Capacities[0]; c.Knee < 50 || c.Knee > 90 {
		t.Errorf("%+v", c)
	}
}

func TestBadConfigurations(t *testing.T) {
	f := func(want string, change func(c *find.Config)) {
		t.Helper()
		conf := config(t, "p99<1ms")
		change(&conf)
		if _, err := find.New(conf); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	f("no objective", func(c *find.Config) { c.Tiers = nil })
	f(`"all" has no objective`, func(c *find.Config) { c.Tiers[0].Objectives = nil })
	f("use <", func(c *find.Config) { c.Tiers[0].Objectives[0].Op = "==" })
	f("remove @", func(c *find.Config) { c.Tiers[0].Objectives[0].At = 8 })
	f("above 0", func(c *find.Config) { c.Lowest = 0 })
	f("not below", func(c *find.Config) { c.Highest = 0.5 })
	f("cannot end", func(c *find.Config) { c.MinTime = time.Hour })
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

// The longest latency that a tier allows is one of the metrics that the caller counts, and only of rules that bound it from above.
func TestLatencyLimit(t *testing.T) {
	tier, err := find.ParseTier("slo", []string{"p99<50ms", "avg<=20ms", "ttft.p90<1s", "throughput>900"})
	if err != nil {
		t.Fatal(err)
	}
	f := func(want time.Duration, metrics ...string) {
		t.Helper()
		if got := tier.LatencyLimit(func(name string) bool { return slices.Contains(metrics, name) }); got != want {
			t.Errorf("%v: %v, want %v", metrics, got, want)
		}
	}
	f(50*time.Millisecond, "p99", "avg")
	f(time.Second, "p99", "avg", "ttft.p90")
	f(0, "throughput")
}

// A level without a request has metrics with the value 0. They are no evidence that a latency holds.
func TestNoRequestNoReading(t *testing.T) {
	f := func(rule string, requests uint64, missing bool) {
		t.Helper()
		tier, err := find.ParseTier("slo", []string{rule})
		if err != nil {
			t.Fatal(err)
		}
		lv := &result.Level{Client: result.Client{Requests: requests, Failed: 3}, Metrics: []result.Metric{{Tag: "time_to_first_token", Unit: "ms"}}}
		if got := find.Readings(lv, tier.Objectives); got[0].Missing != missing {
			t.Errorf("%s with %d requests: %+v", rule, requests, got[0])
		}
	}
	f("p50<1ms", 0, true)
	f("ttft.p50<1ms", 0, true)
	f("throughput>1", 0, true)
	f("error_rate<1%", 0, false)
}
