package tune

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// server is a simulated server: its capacity at a point, and how much a probe of each stage scatters.
type server struct {
	capacity   func(p Point) float64
	resolution float64
	saturation float64 // throughput of the overloaded server, as a multiple of its capacity
	noise      [stages]float64
	rng        *rand.Rand
	log        []Step
}

func newServer(seed uint64, capacity func(Point) float64) *server {
	return &server{capacity: capacity, resolution: resolution, saturation: 1.15, noise: [stages]float64{0.05, 0.03, 0.01}, rng: rand.New(rand.NewPCG(seed, 3))}
}

// Times of a probe, by stage, and of a confirmation.
var probeTime = [stages]time.Duration{1500 * time.Millisecond, 4 * time.Second, 8 * time.Second}

const (
	confirmTime = 20 * time.Second
	firstGuess  = 40.0
	resolution  = 0.03
	warmLimit   = 120 // the highest throughput of a warm-up, whose requests in flight are few
)

// measure brackets the capacity by halving and doubling, as package find does, until the step has enough. A whole search probes the
// upper end of the bracket again, and has one to three confirmations.
func (v *server) measure(s Step) Measurement {
	v.log = append(v.log, s)
	truth := v.capacity(s.Point)
	if truth < 0 {
		return Measurement{Failed: "the model does not load", High: math.Inf(1), Took: time.Second}
	}
	m := Measurement{High: math.Inf(1)}
	load := cmp.Or(s.First(min(max(1, v.saturation)*truth, warmLimit)), firstGuess)
	for !s.Enough(m.Low, m.High) && m.Probes < 30 && (s.Limit == 0 || m.Took < s.Limit) {
		m.Probes++
		m.Took += probeTime[s.Stage]
		scatter := math.Exp(v.noise[s.Stage] * v.rng.NormFloat64())
		if load < truth*scatter {
			m.Low = max(m.Low, load)
		} else if load < m.High {
			m.High, m.Reached = load, min(load, v.saturation*truth*scatter)
		}
		if m.Low >= m.High {
			m.Low = m.High * 0.99
		}
		switch {
		case m.Low == 0:
			load /= s.Growth
		case math.IsInf(m.High, 1):
			load *= s.Growth
		case s.Stage == Find && m.High <= m.Low*(1+v.resolution):
			m.Probes++
			m.Took += probeTime[s.Stage]
			for range 1 + v.rng.IntN(3) {
				if s.Limit == 0 || m.Took < s.Limit {
					m.Probes++
					m.Took += confirmTime
				}
			}
			m.Value = m.Low
			return m
		default:
			load = math.Sqrt(m.Low * m.High)
		}
	}
	return m
}

// run searches on a server until the search is over.
func (v *server) run(t *testing.T, conf Config) *Search {
	t.Helper()
	s := New(conf)
	for range 10_000 {
		step, more := s.Next()
		if !more {
			return s
		}
		s.Observe(v.measure(step))
	}
	t.Fatal("the search does not end")
	return nil
}

func knob(name string, n int) Knob {
	k := Knob{Name: name}
	for i := range n {
		k.Values = append(k.Values, string(rune('a'+i)))
	}
	return k
}

// laws are servers whose best configuration is known. Knobs: instances 1..4, max_batch 1,2,4..64, queue_delay with 5 values.
var laws = []struct {
	name     string
	knobs    []Knob
	capacity func(p Point) float64
}{
	{"scales with instances", []Knob{knob("instances", 4)}, func(p Point) float64 { return 90 * float64(p[0]+1) }},
	{"worse above 2 instances", []Knob{knob("instances", 4)}, func(p Point) float64 {
		return []float64{90, 170, 120, 85}[p[0]]
	}},
	{"gains from batches up to 8", []Knob{knob("max_batch", 7)}, func(p Point) float64 {
		return []float64{45, 85, 160, 300, 270, 240, 200}[p[0]]
	}},
	{"instances and batches", []Knob{knob("instances", 4), knob("max_batch", 7)}, func(p Point) float64 {
		return []float64{1, 1.8, 1.5, 1.1}[p[0]] * []float64{45, 85, 160, 300, 270, 240, 200}[p[1]]
	}},
	{"three knobs", []Knob{knob("instances", 4), knob("max_batch", 7), knob("queue_delay", 5)}, func(p Point) float64 {
		return []float64{1, 1.8, 1.5, 1.1}[p[0]] * []float64{45, 85, 160, 300, 270, 240, 200}[p[1]] * []float64{1, 1.06, 1.15, 1.05, 0.9}[p[2]]
	}},
	{"some do not load", []Knob{knob("instances", 4), knob("max_batch", 7)}, func(p Point) float64 {
		if p[0]*p[1] > 9 {
			return -1 // out of memory
		}
		return 90 * float64(p[0]+1) * (1 + float64(p[1])/4)
	}},
}

// best is the true best of a law.
func best(knobs []Knob, capacity func(Point) float64) (at Point, value float64) {
	for _, p := range grid(knobs) {
		if c := capacity(p); c > value {
			at, value = p, c
		}
	}
	return at, value
}

// In at least 9 of 10 seeds the search finds the true best of servers of known law, or one within the resolution of it, with at
// most half of the loads of a search on every candidate.
func TestFindsTheBest(t *testing.T) {
	const seeds = 200
	for _, l := range laws {
		at, most := best(l.knobs, l.capacity)
		right, probes := 0, 0
		for seed := range uint64(seeds) {
			s := newServer(seed, l.capacity).run(t, Config{Knobs: l.knobs, Present: make(Point, len(l.knobs)), Seed: seed})
			if b := s.Best(); b != nil && (slices.Equal(b.Point, at) || l.capacity(b.Point) >= most*(1-resolution)) {
				right++
			}
			probes += s.Probes()
		}
		brute := 0
		every := newServer(1, l.capacity)
		for _, p := range grid(l.knobs) {
			brute += every.measure(Step{Point: p, Stage: Find, Growth: screenGrowth}).Probes
		}
		t.Logf("%s: right in %d of %d, %.1f loads, brute force %d", l.name, right, seeds, float64(probes)/seeds, brute)
		if right < seeds*9/10 {
			t.Errorf("%s: right in %d of %d seeds", l.name, right, seeds)
		}
		if half := float64(brute) / 2; float64(probes)/seeds > half {
			t.Errorf("%s: %.1f loads, more than half of %d", l.name, float64(probes)/seeds, brute)
		}
	}
}

// With the resolution of the tests on a real Triton, no seed needs more than half of the loads of Model Analyzer's brute search there, which
// has at least 33 measurements of four candidates. The laws are those of the models of e2e/tune.
func TestLoadsOfEverySeed(t *testing.T) {
	const seeds, coarse = 1000, 0.1
	f := func(name string, saturation float64, limit int, capacities ...float64) {
		knobs := []Knob{knob("knob", len(capacities))}
		capacity := func(p Point) float64 { return capacities[p[0]] }
		at, _ := best(knobs, capacity)
		for _, present := range []Point{{0}, {len(capacities) - 1}} {
			right, most, sum := 0, 0, 0
			for seed := range uint64(seeds) {
				v := newServer(seed, capacity)
				v.resolution, v.saturation = coarse, saturation
				s := v.run(t, Config{Knobs: knobs, Present: present, Seed: seed, Resolution: coarse})
				if b := s.Best(); b != nil && slices.Equal(b.Point, at) {
					right++
				}
				sum += s.Probes()
				most = max(most, s.Probes())
			}
			t.Logf("%s, now %v: right in %d of %d, %.1f loads, at most %d", name, present, right, seeds, float64(sum)/seeds, most)
			if right < seeds*9/10 || most > limit {
				t.Errorf("%s, now %v: right in %d of %d seeds, with up to %d loads", name, present, right, seeds, most)
			}
		}
	}
	f("scales with instances", 1.15, 16, 20, 43, 67, 91)
	f("worse above 2 instances", 1.15, 16, 20, 43, 27, 15)
	f("gains from batches up to 8", 1.15, 19, 20, 43, 85, 170, 95, 90)
	// Servers that answer less in an overload than at their capacity.
	f("scales with instances, slow in an overload", 0.5, 18, 20, 43, 67, 91)
	f("gains from batches up to 8, slow in an overload", 0.5, 28, 20, 43, 85, 170, 95, 90)
	f("close, slow in an overload", 0.6, 30, 60, 70, 80, 91)
}

// The budget is kept, up to the measurement that runs when it ends, and there is an answer.
func TestKeepsTheBudget(t *testing.T) {
	l := laws[4]
	for seed := range uint64(50) {
		for _, budget := range []time.Duration{time.Minute, 3 * time.Minute, 10 * time.Minute} {
			s := newServer(seed, l.capacity).run(t, Config{Knobs: l.knobs, Present: make(Point, 3), Seed: seed, Budget: budget})
			if s.spent > budget+2*time.Minute/3 {
				t.Errorf("seed %d: %v of a budget of %v", seed, s.spent, budget)
			}
			if s.Best() == nil {
				t.Errorf("seed %d, budget %v: no answer", seed, budget)
			}
		}
	}
}

// A candidate is measured once in a stage, and the same seed and the same server give the same steps.
func TestMeasuresOnceAndRepeats(t *testing.T) {
	for _, l := range laws {
		var first []Step
		for range 2 {
			v := newServer(7, l.capacity)
			v.run(t, Config{Knobs: l.knobs, Present: make(Point, len(l.knobs)), Seed: 7, Budget: 20 * time.Minute})
			seen := map[string]bool{}
			for _, s := range v.log {
				name := s.Stage.String() + key(s.Point)
				if seen[name] {
					t.Errorf("%s: %s of %v twice", l.name, s.Stage, s.Point)
				}
				seen[name] = true
			}
			if first != nil && !slices.EqualFunc(first, v.log, func(a, b Step) bool {
				return a.Stage == b.Stage && slices.Equal(a.Point, b.Point) && a.Start == b.Start
			}) {
				t.Errorf("%s: two searches with one seed differ", l.name)
			}
			first = v.log
		}
	}
}

// A search on a server that never holds its objectives ends without an answer.
func TestNoneHolds(t *testing.T) {
	s := New(Config{Knobs: []Knob{knob("instances", 4)}, Present: Point{0}})
	n := 0
	for step, more := s.Next(); more; step, more = s.Next() {
		n++
		s.Observe(Measurement{High: 0.5, Took: time.Second, Probes: 1, Failed: "no load holds"})
		if step.Stage != Screen || n > 4 {
			t.Fatalf("step %d: %v", n, step)
		}
	}
	if s.Best() != nil {
		t.Errorf("best %v", s.Best())
	}
}

// A budget that ends before any load was decided is the reason why there is no answer: not that no candidate holds.
func TestTheBudgetEndsTheFirstMeasurement(t *testing.T) {
	s := New(Config{Knobs: []Knob{knob("instances", 1)}, Present: Point{0}, Budget: time.Second})
	s.Observe(Measurement{High: math.Inf(1), Took: 2 * time.Second, Probes: 1})
	if _, more := s.Next(); more || s.Best() != nil || s.Reason() != budgetOver {
		t.Errorf("more %v, best %v, reason %q", more, s.Best(), s.Reason())
	}
}

// A candidate that held a load in a short probe, and did not hold a lower one in a long probe, is estimated by the lower one.
func TestALongProbeCorrectsAShortOne(t *testing.T) {
	s := New(Config{Knobs: []Knob{knob("instances", 1)}, Present: Point{0}})
	s.Observe(Measurement{Low: 390, High: 550, Took: time.Second, Probes: 3})
	if step, more := s.Next(); !more || step.Stage != Find {
		t.Fatalf("%+v, %v", step, more)
	}
	s.Observe(Measurement{High: 384, Took: time.Second, Probes: 1})
	if got := s.Candidates()[0].Score(); got != 384 {
		t.Errorf("estimate %g", got)
	}
}

// A candidate that is worse costs one load; what it did in overload estimates its capacity.
func TestTheThroughputInOverloadIsAnEstimate(t *testing.T) {
	s := New(Config{Knobs: []Knob{knob("instances", 2)}, Present: Point{0}})
	s.Observe(Measurement{Low: 100, High: 150, Took: time.Second, Probes: 3})
	step, _ := s.Next()
	if !step.Enough(0, step.Start) {
		t.Fatalf("a load that fails at %g is not enough: %+v", step.Start, step)
	}
	s.Observe(Measurement{High: step.Start, Reached: 40, Took: time.Second, Probes: 1})
	if got := s.Candidates()[1].Score(); got != 40 {
		t.Errorf("estimate %g", got)
	}
}

func TestEffects(t *testing.T) {
	s := newServer(1, func(p Point) float64 {
		if p[1] == NotListed { // the present value
			return 20
		}
		return laws[3].capacity(p)
	}).run(t, Config{Knobs: laws[3].knobs, Present: Point{0, NotListed}, Seed: 1})
	e := s.Effects()
	if e[1].Ratio < e[0].Ratio || e[0].Ratio < 1.2 {
		t.Errorf("effects %+v, best %+v", e, s.Best())
	}
}

func TestFront(t *testing.T) {
	got := Front([]Figure{{100, 10}, {200, 20}, {150, 30}, {0, 1}, {200, 20}, {180, 0}})
	if want := []bool{true, true, false, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("front %v, want %v", got, want)
	}
}
