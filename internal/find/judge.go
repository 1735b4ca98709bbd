package find

import (
	"fmt"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// confirmDeviations is how many standard errors every objective keeps from its limit at a load that is confirmed. It follows from the
// simulations: at most one in 20 answers may fail a check of ten times the length of a probe.
const confirmDeviations = 2.0

// decideDeviations is the half width of an interval of Level, in standard errors.
const decideDeviations = 2.5758

// deviations is the half width of an interval in standard errors.
func deviations(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }

// Verdict is what evidence says about a load.
type Verdict string

// The verdicts.
const (
	Unknown  Verdict = "unknown" // too little was measured
	Holds    Verdict = "holds"
	Fails    Verdict = "fails"
	AtClient Verdict = "client limit"
)

// Judgment is the verdict on a load for one tier.
type Judgment struct {
	Verdict Verdict
	// Decided: the verdict has the confidence of Level. Otherwise the time was over, and the values alone gave the verdict.
	Decided bool
	// Objective is the one that is nearest to failing, or fails most clearly.
	Objective string
	Why       string

	margin   float64 // distance of that objective from its limit, in standard errors; negative where it fails
	interval bool    // margin comes from an interval
	complete bool    // every objective has an interval
}

// judge pools what probes at one load show about a tier.
func (s *Search) judge(probes []*Probe, tier int) Judgment {
	var steady []*Probe
	var client, cut *Probe
	var clients, cuts int
	for _, p := range probes {
		switch p.End {
		case ClientFull:
			client, clients = p, clients+1
		case Overload, ServerDown:
			cut, cuts = p, cuts+1
		default:
			steady = append(steady, p)
		}
	}
	switch {
	case 2*clients > len(probes), len(steady) == 0 && client != nil:
		return Judgment{Verdict: AtClient, Decided: true, Why: "the client was the limit: " + client.Last.ClientLimit}
	case 2*cuts > len(probes), len(steady) == 0:
		j := Judgment{Verdict: Fails, Decided: true, Why: "the server went down: " + cut.Last.Down, margin: -2 * decideDeviations}
		if cut.End == Overload {
			j.Why = fmt.Sprintf("overload: the backlog grew to %d requests", cut.Last.Backlog)
			j.Objective = s.judgeObjectives([]*Probe{cut}, tier).Objective
		}
		return j
	}
	if j, failed := s.judgeFailures(steady, tier); failed {
		return j
	}
	return s.judgeObjectives(steady, tier)
}

// judgeFailures finds that more requests fail than any load may have. Objectives about failures replace this rule.
func (s *Search) judgeFailures(probes []*Probe, tier int) (Judgment, bool) {
	for _, i := range s.tiers[tier] {
		if name := s.objectives[i].Name; name == "error_rate" || name == "failed" {
			return Judgment{}, false
		}
	}
	var ended, failed int
	for _, p := range probes {
		ended += p.Last.Requests + p.Last.Failures
		failed += p.Last.Failures
	}
	if !s.tooManyFail(failed, ended) {
		return Judgment{}, false
	}
	return Judgment{
		Verdict: Fails, Decided: true, margin: -decideDeviations,
		Objective: fmt.Sprintf("error_rate<=%g%%", 100*s.conf.MaxFailed),
		Why:       fmt.Sprintf("%.3g %% of the requests failed", 100*float64(failed)/float64(ended)),
	}, true
}

// tooManyFail tells whether more requests failed than any load may have, and by more than chance explains.
func (s *Search) tooManyFail(failed, ended int) bool {
	return stats.BinomialTail(float64(failed), float64(ended), s.conf.MaxFailed) <= (1-Level)/2
}

// judgeObjectives gives the verdict of the objective that is nearest to failing.
func (s *Search) judgeObjectives(probes []*Probe, tier int) Judgment {
	var worst estimate
	complete := true
	for n, i := range s.tiers[tier] {
		e := pool(probes, i, &s.objectives[i])
		complete = complete && e.deviation > 0
		if n == 0 || e.margin < worst.margin {
			worst = e
		}
	}
	j := Judgment{
		Verdict: Holds, Decided: complete && worst.margin >= decideDeviations, Objective: worst.rule.Text,
		margin: worst.margin, interval: worst.deviation > 0, complete: complete,
	}
	if worst.margin < 0 {
		j.Verdict, j.Decided = Fails, worst.margin <= -decideDeviations
	}
	if !j.Decided && !s.timeOver(probes) {
		j.Verdict = Unknown
	}
	j.Why = worst.text(j)
	return j
}

// timeOver tells whether probes measured for as long as one may.
func (s *Search) timeOver(probes []*Probe) bool {
	var measured time.Duration
	for _, p := range probes {
		if measured += p.measured; p.End == TimeOver {
			return true
		}
	}
	return measured >= s.conf.MaxTime
}

// estimate is the pooled value of one objective's metric.
type estimate struct {
	rule      *gate.Rule
	value     float64
	unit      string
	deviation float64 // standard error; 0 where no interval is known
	margin    float64 // as in Judgment; infinite for a value that holds, where nothing is known about its error
	missing   bool
}

// failsWithoutInterval is the margin of a value that fails, where nothing is known about its error.
const failsWithoutInterval = -1e-3

// pool weighs the readings of one objective that have an interval by the time of their probes. Weights by the intervals would favor
// low latencies, because by chance low latencies have narrow intervals.
func pool(probes []*Probe, objective int, rule *gate.Rule) estimate {
	e := estimate{rule: rule, missing: true}
	var weights, sum, variance float64
	for _, p := range probes {
		r, ok := p.reading(objective)
		if !ok {
			continue
		}
		e.value, e.unit, e.missing = r.Value, r.Unit, false
		if d := r.deviation(rule); d > 0 {
			w := max(p.measured.Seconds(), 1e-3)
			weights += w
			sum += w * r.Value
			variance += w * w * d * d
		}
	}
	if weights > 0 {
		e.value, e.deviation = sum/weights, math.Sqrt(variance)/weights
	}
	holds := !e.missing && rule.Holds(e.value)
	// An interval that is too wide even for the best possible value tells nothing about a value that holds.
	if holds && best(rule, e.unit) < confirmDeviations*e.deviation {
		e.deviation = 0
	}
	margin := math.Abs(e.value-rule.Limit()) / e.deviation
	switch {
	case holds && e.deviation > 0:
		e.margin = margin
	case holds:
		e.margin = math.Inf(1)
	case e.deviation > 0:
		e.margin = min(-margin, failsWithoutInterval)
	default:
		e.margin = failsWithoutInterval
	}
	return e
}

// deviation is the standard error of the reading on the side of the limit; 0 where it is not known.
func (r *Reading) deviation(rule *gate.Rule) float64 {
	if r.Interval == nil {
		return 0
	}
	width := r.Value - r.Interval.Low
	if r.Value < rule.Limit() {
		if r.Interval.Open {
			return 0
		}
		width = r.Interval.High - r.Value
	}
	// The interval of a constant has no width.
	return max(width/deviations(r.Interval.Level), 1e-9*math.Abs(rule.Limit()), math.SmallestNonzeroFloat32)
}

// best is the distance of the limit from the best value that the metric can have.
func best(rule *gate.Rule, unit string) float64 {
	switch {
	case rule.Op[0] == '<':
		return rule.Limit()
	case unit == "%":
		return 100 - rule.Limit()
	}
	return math.Inf(1)
}

// text says why the objective gave its verdict.
func (e *estimate) text(j Judgment) string {
	figure := func(v float64) string { return gate.Figure(result.Reading{Value: v, Unit: e.unit}) }
	figures := figure(e.value)
	if e.deviation > 0 {
		figures += " ± " + figure(decideDeviations*e.deviation)
	}
	switch {
	case e.missing && j.Verdict == Unknown:
		return e.rule.Name + " has no value yet"
	case e.missing:
		return e.rule.Name + " has no value: no request gave one"
	case j.Verdict == Unknown:
		return fmt.Sprintf("%s is not decided yet: %s", e.rule.Text, figures)
	case !j.Decided:
		return fmt.Sprintf("%s %s: %s, undecided", e.rule.Text, j.Verdict, figures)
	}
	return fmt.Sprintf("%s %s: %s", e.rule.Text, j.Verdict, figures)
}
