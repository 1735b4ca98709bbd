// Package find searches for the highest load at which a server holds its objectives. Search is a pure state machine: its
// caller runs the load that a Step names and gives Observations back. It has no clock and sends nothing. Run is such a
// caller: it drives a Search over a Runner, which sends the loads.
//
// The method, in plain words:
//
//   - Bracket. From a first guess the load doubles until an objective fails, or halves until all hold.
//   - Bisect. The middle of the bracket is probed until the bracket is as narrow as the resolution.
//   - Decide by confidence. A probe goes on until the confidence interval of every objective lies on the good side of its
//     limit, or that of one objective lies on the bad side. A probe whose time is over is judged by its values and called
//     undecided. Intervals are looked at only a few times in a probe, because each look is one more chance to be wrong.
//   - Cut overload. Where the backlog grows steadily, and by more than chance explains, the probe ends at once. So it does
//     where so many requests wait that by Little's law their mean latency is twice the limit of an objective. The server is
//     drained, and a light load must hold the objectives again before the search goes on.
//   - Revisit. Everything that was seen at one load is pooled. Where a load fails although a higher one holds, the load with
//     the weaker evidence is probed again. Before the search ends, the failing edge of the bracket is probed again if it
//     was probed for a short time only.
//   - Pool. A load that is not decided is judged by all probes around it, each moved to that load along the slope of the
//     curve. One probe at the capacity of a queue tells it to about 2 %; several tell more. Newer probes weigh more, because a
//     server may drift.
//   - Confirm. A longer probe runs at the highest load that all probes around it keep from the limits by two standard errors. If
//     with the confirmation they do not, a new confirmation runs at the highest load that now does.
//
// A load at which the client is the limit bounds the search, but says nothing about the server: such an answer is never a
// capacity. Several sets of objectives (tiers) are searched one after the other, and each tier uses every probe of the others.
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

// Level is the confidence of a decision at one look. The intervals of readings should have it; others are scaled.
const Level = 0.99

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
	// Growth is the factor of the load while an end of the bracket is missing (default 2).
	Growth float64
	// Resolution is the relative width of the bracket at the end (default 0.02).
	Resolution float64
	// Settle is the start of a probe that readings leave out. It must be longer than a usual response time, so that the
	// number of requests in flight has stopped growing (default 2 s).
	Settle time.Duration
	// MinTime and MaxTime bound the measured part of a probe (defaults 3 s and 30 s).
	MinTime, MaxTime time.Duration
	// Confirm is the measured part of the confirmation (default 2.5 times MaxTime). It goes on until ConfirmRequests have
	// ended in it.
	Confirm         time.Duration
	ConfirmRequests int
	// Budget is the time after which no further probe starts; 0 for no limit.
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
	// Interval is the confidence interval; nil where there are too few requests for one.
	Interval *result.Interval
	// Missing: no request gave a value.
	Missing bool
}

// Observation is what the caller sees during a step.
type Observation struct {
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
	// Down says why the server answers nothing any more; empty where it answers.
	Down string
}

// Action is what the caller does next.
type Action string

// The actions.
const (
	Run    Action = "run"    // start Load where Probe is new, keep it running, and observe at At
	Drain  Action = "drain"  // send nothing, wait for the requests in flight, cancel them at Limit
	Check  Action = "check"  // run the light Load and observe at At whether the server has recovered
	Finish Action = "finish" // the search is over
)

// Step is what the caller does next.
type Step struct {
	Do      Action
	Probe   int     // index in Answer.Probes
	Purpose Purpose // of the probe that runs
	Load    float64
	// At is the Elapsed of the next observation, Limit the Elapsed at which the step ends at the latest.
	At, Limit time.Duration
	// Look is the Elapsed from which an observation needs readings with intervals. An observation may come later than At.
	Look time.Duration
}

// Search is the state of one search. It is not safe for concurrent use.
type Search struct {
	conf       Config
	objectives []gate.Rule
	tiers      [][]int // indexes in objectives
	probes     []*Probe
	step       Step
	backlog    []backlog     // of the running probe, after it settled
	unmeasured int           // requests that ended before the running probe had settled
	spent      time.Duration // in the steps that are over
	patience   time.Duration // see latencyLimit
	state      State
	reason     string
}

// New checks the configuration and makes the search. Step is its first step.
func New(conf Config) (*Search, error) {
	if len(conf.Tiers) == 0 {
		return nil, errors.New("no objective is given; use a rule such as 'p99<50ms'")
	}
	s := &Search{conf: conf, state: Searching}
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
	defaultTo(&c.Growth, 2)
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
