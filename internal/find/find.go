// Package find searches for the highest load at which a server holds its objectives. Search is a pure state machine: its
// caller runs the load that a Step names and gives Observations back. It has no clock and sends nothing. Run is such a
// caller: it drives a Search over a Runner, which sends the loads.
//
// The method, in plain words:
//
//   - Bracket. From a first guess the load doubles until an objective fails, or halves until all hold. Where every objective is kept by
//     a factor of 5, the load grows fourfold.
//   - Decide as soon as it is sure. A probe ends when the confidence interval of every objective's metric lies on the good side of its
//     limit, or that of one objective on the bad side. Intervals are looked at only a few times in a probe, because each look is one
//     more chance to be wrong. See judge.go.
//   - Cut overload. Where the backlog grows steadily, and by more than chance explains, the probe ends at once. See overload.go.
//   - Weigh. All probes together say how likely each capacity is: a probe that is sure rules out the loads on the other side of it, and
//     every probe says by the distance of its metric from the limit how far away the capacity is. See belief.go.
//   - Bisect. The next probe runs at the capacity that is as likely too low as too high.
//   - Confirm. The last probe runs for longer, at a load that is likely to hold. See plan.go, which also fits all of this into the budget.
//
// A load at which the client is the limit says nothing about the server: it bounds the search, but not the capacity. Several sets of
// objectives (tiers) are searched one after the other, and each tier uses every probe of the others.
package find

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
)

const (
	// Level is the confidence of the intervals that decide a probe: each side is wrong in one of 100 cases.
	Level = 0.98
	// AnswerLevel is the confidence of the interval of the capacity.
	AnswerLevel = 0.95
)

// Tier is a set of objectives that must hold together.
type Tier struct {
	Name       string
	Objectives []gate.Rule
}

// Config says what to search for. Times that are 0 get a default.
type Config struct {
	Tiers []Tier
	// Start is the first load, from a quick estimate. Loads stay between Lowest and Highest.
	Start, Lowest, Highest float64
	// Whole: loads are whole numbers (concurrency, users), not rates.
	Whole bool
	// Growth is the factor of the load while an end of the bracket is missing; 0 lets the probes decide.
	Growth float64
	// Resolution is the relative distance of the capacity from the ends of its interval at which the search is content (default 0.02).
	Resolution float64
	// Settle is the start of a probe that readings leave out. It must be longer than a usual response time, so that the
	// number of requests in flight has stopped growing (default 2 s).
	Settle time.Duration
	// MinTime and MaxTime bound the measured part of a probe (defaults 3 s and 30 s).
	MinTime, MaxTime time.Duration
	// Confirm is the measured part of the confirmation (default 2.5 times MaxTime). It goes on until ConfirmRequests have
	// ended in it. A budget may shorten it.
	Confirm         time.Duration
	ConfirmRequests int
	// Budget is the time by which the search ends; 0 for no limit.
	Budget time.Duration
	// Tick is the time between two observations (default a quarter of MinTime).
	Tick time.Duration
	// MaxFailed is the share of failed requests above which no load holds, whatever the objectives (default 0.01). It is
	// ignored in tiers with an objective for error_rate or failed.
	MaxFailed float64
}

// Reading is the value of one objective's metric.
type Reading struct {
	Value float64
	Unit  string
	// Count is the number of requests that the value comes from.
	Count int
	// Interval is the confidence interval, with the confidence Level; nil where there are too few requests for one.
	Interval *result.Interval
	// Missing: no request gave a value.
	Missing bool
}

// Observation is what the caller sees during a step.
type Observation struct {
	Now     time.Duration // since the search began
	Elapsed time.Duration // since the step's load began, or since the drain began
	// Requests and Failures ended since the load began; Backlog is how many are sent or due and have not ended.
	Requests, Failures, Backlog int
	// Readings are in the order of Search.Objectives. They leave out the time of Settle. During a check they cover the time
	// since the last observation.
	Readings []Reading
	// Level has the figures that the readings were taken from; nil where none were computed.
	Level *result.Level
	// ClientLimit says why the client is the limit; empty where it is not.
	ClientLimit string
	// Down says why the server answers nothing any more, Rejects with what it answers every request; empty where it answers.
	Down, Rejects string
}

// Action is what the caller does next.
type Action string

// The actions.
const (
	Run    Action = "run"    // start Load where Probe is new, keep it running, and observe at At
	Drain  Action = "drain"  // send nothing, wait for the requests in flight, cancel them at Limit; then observe
	Check  Action = "check"  // run the light Load and observe at At whether the server has recovered
	Finish Action = "finish" // the search is over: cancel the requests in flight
)

// Step is what the caller does next.
type Step struct {
	Do      Action
	Probe   int     // index in Answer.Probes
	Purpose Purpose // of the probe that runs
	Load    float64
	// Settle is the start of the load that readings leave out.
	Settle time.Duration
	// At is the Elapsed of the next observation, Limit the Elapsed at which the step ends at the latest.
	At, Limit time.Duration
	// Look is the Elapsed from which an observation needs readings with intervals. An observation may come later than At.
	Look time.Duration
	// Drain is how long the requests in flight may go on after the load.
	Drain time.Duration
}

// Search is the state of one search. It is not safe for concurrent use.
type Search struct {
	conf       Config
	objectives []gate.Rule
	tiers      [][]int // indexes in objectives
	probes     []*Probe
	step       Step
	backlog    []backlog     // of the running probe, after it settled
	settled    Observation   // of the running probe, at the end of its settling
	waiting    float64       // sum of its backlogs since then
	looks      int           // at them
	now        time.Duration // since the search began
	drained    struct {      // the drains so far
		time  time.Duration
		count int
	}
	patience time.Duration // see latencyLimit
	state    State
	reason   string
	beliefs  []*belief // of each tier, after the probes that have ended; nil where not yet computed
}

// New checks the configuration and makes the search. Step is its first step.
func New(conf Config) (*Search, error) {
	if len(conf.Tiers) == 0 {
		return nil, errors.New("no objective is given; use a rule such as 'p99<50ms'")
	}
	s := &Search{conf: conf, state: Searching, beliefs: make([]*belief, len(conf.Tiers))}
	for _, t := range conf.Tiers {
		indexes, err := s.addObjectives(t)
		if err != nil {
			return nil, err
		}
		s.tiers = append(s.tiers, indexes)
	}
	if err := s.setDefaults(); err != nil {
		return nil, err
	}
	s.patience = s.latencyLimit()
	s.advance()
	return s, nil
}

// addObjectives adds the objectives of a tier to those of the search; tiers share equal ones.
func (s *Search) addObjectives(t Tier) ([]int, error) {
	if len(t.Objectives) == 0 {
		return nil, fmt.Errorf("the tier %q has no objective", t.Name)
	}
	var indexes []int
	for _, r := range t.Objectives {
		if err := CheckObjective(&r); err != nil {
			return nil, err
		}
		i := slices.Index(s.objectives, r)
		if i < 0 {
			i = len(s.objectives)
			s.objectives = append(s.objectives, r)
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

// CheckObjective refuses a rule that a search cannot decide: one about equality, or about one load.
func CheckObjective(r *gate.Rule) error {
	switch {
	case r.Op == "==" || r.Op == "!=":
		return fmt.Errorf("the objective %q: use <, <=, > or >=", r.Text)
	case r.At != 0:
		return fmt.Errorf("the objective %q: remove @ and the load after it, because the search chooses the loads", r.Text)
	}
	return nil
}

func (s *Search) setDefaults() error {
	c := &s.conf
	c.Highest = cmp.Or(c.Highest, math.Inf(1))
	if c.Whole {
		c.Lowest, c.Highest, c.Start = max(1, math.Ceil(c.Lowest)), math.Floor(c.Highest), math.Round(c.Start)
	}
	if c.Lowest <= 0 || c.Highest < c.Lowest {
		return fmt.Errorf("loads from %g to %g: the lowest must be above 0, and the highest not below it", c.Lowest, c.Highest)
	}
	c.Start = min(max(c.Start, c.Lowest), c.Highest)
	defaultTo(&c.Resolution, 0.02)
	defaultTo(&c.MaxFailed, 0.01)
	defaultTo(&c.Settle, 2*time.Second)
	defaultTo(&c.MinTime, 3*time.Second)
	defaultTo(&c.MaxTime, 30*time.Second)
	defaultTo(&c.Confirm, 5*c.MaxTime/2)
	defaultTo(&c.Tick, c.MinTime/4)
	if c.MinTime > c.MaxTime {
		return fmt.Errorf("a probe of at least %v cannot end after %v", c.MinTime, c.MaxTime)
	}
	return nil
}

// Times sets the times that are 0 by the latency of a single request: slow responses need longer probes, a short budget shorter ones.
func (c *Config) Times(single time.Duration) {
	longer := func(to *time.Duration, least time.Duration, responses int, share time.Duration) {
		if *to > 0 {
			return
		}
		if *to = max(least, time.Duration(responses)*single).Round(time.Millisecond); c.Budget > 0 {
			*to = min(*to, c.Budget/share)
		}
	}
	longer(&c.Settle, 2*time.Second, 1, 20)
	longer(&c.MinTime, 3*time.Second, 2, 15)
	longer(&c.MaxTime, 30*time.Second, 20, 4)
}

func defaultTo[T time.Duration | float64](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

// Objectives are those of all tiers, each one once, in the order of an Observation's readings.
func (s *Search) Objectives() []gate.Rule { return s.objectives }

// Step is what the caller does now.
func (s *Search) Step() Step { return s.step }

// Stop ends the search early, as Interrupted or Failed. The running probe stays in the answer with its last figures.
func (s *Search) Stop(state State, reason string) {
	if s.state != Searching {
		return
	}
	if s.step.Do == Run {
		s.close(Stopped)
	}
	s.finish(state, reason)
}

func (s *Search) finish(state State, reason string) {
	s.state, s.reason = state, reason
	s.step = Step{Do: Finish}
}
