// Package tune searches for the best configuration of a model: the one that takes the highest load while the objectives hold.
// Search is a pure state machine: its caller measures the candidate that a Step names and gives a Measurement back. It has no
// clock and sends nothing.
//
// The method, in plain words:
//
//   - Screen. Every candidate gets a few short probes. The first one is near the best capacity so far, so that a candidate that
//     is worse costs one probe. It is higher if the warm-up of the candidate had a higher throughput. If there are too many
//     candidates for the budget, a sample that is spread over the space is screened, and then the neighbors of the best one,
//     until none of them is better.
//   - Refine. The better half of the candidates that may still be the best is measured with longer probes. If they are few, those
//     that may have a higher capacity than the best one are only compared with it, at one load.
//   - Find. The last few candidates get the whole search of package find, with its confirmation. A candidate that cannot be
//     the best any more is given up early. A candidate whose throughput fell far behind the best capacity, at a load just above
//     that capacity, gets no search.
//   - Step. The neighbors of the answer that were not measured yet are measured. A better one becomes the answer.
//
// A candidate is measured at most once in each of these stages. A candidate that fails is a result with its reason. The budget
// limits the sum of the times; time for the last stage is kept back.
package tune

import (
	"math"
	"slices"
	"time"
)

// Knob is one setting that candidates differ in. Values are in ascending order where they have one.
type Knob struct {
	Name   string
	Values []string
}

// Point is a candidate: the index of its value for each knob. NotListed marks a present value that the knob does not list.
type Point []int

// NotListed is the index of a value that is not in the list of its knob.
const NotListed = -1

// Stage is how thoroughly a candidate is measured.
type Stage int

// The stages.
const (
	Screen Stage = iota
	Refine
	Find
	stages
)

func (s Stage) String() string { return [...]string{"screen", "refine", "find"}[s] }

// Config is what is searched. Times that are 0 get a default.
type Config struct {
	Knobs []Knob
	// Present is the candidate that the server has now. It is measured first.
	Present Point
	Seed    uint64
	// Budget limits the sum of the times of all measurements; 0 for no limit.
	Budget time.Duration
	// Expect are first guesses of how long a measurement of each stage takes.
	Expect [stages]time.Duration
	// Resolution is the relative difference of two capacities that counts (default 0.03).
	Resolution float64
}

// Step is the next measurement.
type Step struct {
	Point Point
	Stage Stage
	// Start is the first load, as a capacity; 0 where nothing is known. See First.
	Start float64
	// Growth is the factor by which loads go up or down from Start until the capacity is between two of them.
	Growth float64
	// Beat is the capacity that the candidate must exceed to be of interest; 0 where there is none yet.
	Beat float64
	// Once: the candidate need only be compared with Beat.
	Once bool
	// Limit is the time that is left for the measurement; 0 for no limit.
	Limit time.Duration
}

// Resolutions of the brackets, by stage. Find goes on to the resolution of the search.
const (
	screenResolution = 1
	refineResolution = 0.12
)

// warmShare is the first load of a screening as a share of the throughput of the warm-up: most candidates hold it, and do not hold
// twice as much.
const warmShare = 0.7

// First is the first load, given the throughput of a warm-up in closed loop. It is 0 where nothing is known.
func (s Step) First(warm float64) float64 {
	if s.Stage == Screen {
		return max(s.Start, warmShare*warm)
	}
	return s.Start
}

// Enough tells whether a bracket of the capacity answers the step: from low, which holds, to high, which fails. Low is 0 and
// high is infinite where they are not known.
func (s Step) Enough(low, high float64) bool {
	switch {
	case s.Stage == Find:
		return s.Beat > 0 && high <= s.Beat
	case s.Beat > 0 && high <= s.Beat:
		return true // it is worse
	case s.Once && low >= s.Beat:
		return true // it is better
	case low == 0 || math.IsInf(high, 1):
		return false
	}
	return high <= low*(1+s.resolution())
}

func (s Step) resolution() float64 {
	if s.Stage == Screen {
		return screenResolution
	}
	return refineResolution
}

// Measurement is what a step has shown.
type Measurement struct {
	// Low is the highest capacity that holds, 0 where none does; High the lowest that fails, infinite where none does.
	Low, High float64
	// Reached is the throughput at High: what the candidate did when it was overloaded. It is 0 where it is not known.
	Reached float64
	// Value is the capacity, of a complete search. It is 0 where the search was given up, or found none.
	Value float64
	// Failed says why the candidate could not be measured. It is empty if it was.
	Failed string
	Took   time.Duration
	Probes int
	// Known: the measurement is of an earlier search, and costs no time of the budget.
	Known bool
}

// Search is the state of one search. It is not safe for concurrent use.
type Search struct {
	conf     Config
	measured []*Candidate // in the order of their first measurement
	byKey    map[string]*Candidate
	sample   []Point // what is screened before the neighbors of the best
	spent    time.Duration
	probes   int
	times    [stages]struct {
		sum   time.Duration
		count int
	}
	step   Step
	more   bool
	reason string // why the search ended before all was measured
}

// New makes the search. Next is its first step.
func New(conf Config) *Search {
	if conf.Resolution <= 0 {
		conf.Resolution = 0.03
	}
	for i, d := range [...]time.Duration{6 * time.Second, 15 * time.Second, time.Minute} {
		if conf.Expect[i] <= 0 {
			conf.Expect[i] = d
		}
	}
	s := &Search{conf: conf, byKey: map[string]*Candidate{}}
	s.sample = s.draw()
	s.advance()
	return s
}

// Next is the next step; false means that the search is over.
func (s *Search) Next() (Step, bool) { return s.step, s.more }

// Observe takes the measurement of the current step in.
func (s *Search) Observe(m Measurement) {
	c := s.byKey[key(s.step.Point)]
	if c == nil {
		c = &Candidate{Point: slices.Clone(s.step.Point)}
		s.byKey[key(c.Point)] = c
		s.measured = append(s.measured, c)
	}
	c.Stage = s.step.Stage
	c.Took += m.Took
	c.Probes += m.Probes
	if m.Failed == "" && c.Failed == "" && c.Probes > m.Probes { // what was known before still holds
		if m.Low == 0 && m.Value == 0 && m.High > c.Low {
			m.Low = c.Low
		}
		if math.IsInf(m.High, 1) && c.High > m.Low {
			m.High = c.High
		}
	}
	if m.Reached == 0 {
		m.Reached = c.Reached
	}
	c.earlier = max(c.earlier, c.Low)
	c.Measurement = m
	s.probes += m.Probes
	if !m.Known {
		s.spent += m.Took
	}
	if m.Failed == "" {
		t := &s.times[s.step.Stage]
		t.sum += m.Took
		t.count++
	}
	s.advance()
}

// Stop ends the search early.
func (s *Search) Stop(reason string) { s.more, s.reason = false, reason }

// Candidates are all that were measured, in the order of their first measurement.
func (s *Search) Candidates() []*Candidate { return s.measured }

// Reason says why the search ended before all was measured that it would have measured; empty where it did not.
func (s *Search) Reason() string { return s.reason }

// Probes is the number of loads that were sent.
func (s *Search) Probes() int { return s.probes }

// Spent is the time of the budget that was used.
func (s *Search) Spent() time.Duration { return s.spent }

// Best is the candidate with the highest capacity that was seen to hold; nil where no load holds. Of candidates whose whole search
// is not done, that is the highest load that held in a short probe.
func (s *Search) Best() *Candidate { return s.most((*Candidate).held) }

// most is the candidate with the highest estimate among those that held a load; nil where none did.
func (s *Search) most(estimate func(*Candidate) float64) *Candidate {
	var most *Candidate
	for _, c := range s.measured {
		if c.held() > 0 && (most == nil || estimate(c) > estimate(most)) {
			most = c
		}
	}
	return most
}

// Size is the number of candidates of the space.
func (s *Search) Size() int { return size(s.conf.Knobs) }

// Planned is the number of candidates that are screened at first.
func (s *Search) Planned() int { return len(s.sample) }

func size(knobs []Knob) int {
	n := 1
	for _, k := range knobs {
		if n > 1_000_000 {
			break
		}
		n *= max(1, len(k.Values))
	}
	return n
}

// key names a point.
func key(p Point) string {
	b := make([]byte, 0, 4*len(p))
	for _, i := range p {
		b = append(b, byte(i), byte(i>>8), '.')
	}
	return string(b)
}
