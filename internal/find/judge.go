package find

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

const (
	// levelDeviations is the half width of an interval of Level, in standard errors.
	levelDeviations = 2.3263
	// fewRequests is how many requests count at most for a value without an interval: those of correlated latencies are worth less.
	fewRequests = 20
	// meanPercentile is that of the mean of an exponential distribution.
	meanPercentile = 100 * (1 - 1/math.E)
)

// Verdict is what a probe says about a load.
type Verdict string

// The verdicts.
const (
	Unknown  Verdict = "unknown" // nothing was measured
	Holds    Verdict = "holds"
	Fails    Verdict = "fails"
	AtClient Verdict = "client limit"
)

// What decided a load, where no objective did.
const (
	BacklogGrew = "backlog"
	WentDown    = "server down"
)

// Judgment is the verdict on a load for one tier.
type Judgment struct {
	Verdict Verdict
	// Decided: the verdict has the confidence of Level. Otherwise the value alone gave the verdict.
	Decided bool
	// Objective is the one that fails most clearly, or is nearest to failing; BacklogGrew or WentDown where that decided.
	Objective string
	Why       string
	// Needs says what a decision needs; empty where it is decided.
	Needs string

	headroom, deviation float64 // of the objective that has least, see estimate; 0 where they are not known
	requests            int     // that were measured
}

// judge says what a probe shows about a tier.
func (s *Search) judge(p *Probe, tier int) Judgment {
	switch p.End {
	case ClientFull:
		return Judgment{Verdict: AtClient, Decided: true, Why: "the client was the limit: " + p.Last.ClientLimit}
	case ServerDown:
		return Judgment{Verdict: Fails, Decided: true, Objective: WentDown, Why: "the server went down: " + p.Last.Down}
	case Rejected:
		return Judgment{Verdict: Fails, Decided: true, Objective: s.failureRule(), Why: "the server rejects requests: " + p.Last.Rejects}
	case Overload:
		return Judgment{Verdict: Fails, Decided: true, Objective: BacklogGrew, Why: fmt.Sprintf("the backlog grew to %d requests, because the server ended %.3g of %.3g requests/s",
			p.Last.Backlog, float64(p.Last.Requests+p.Last.Failures)/p.Last.Elapsed.Seconds(), float64(p.Last.Requests+p.Last.Failures+p.Last.Backlog)/p.Last.Elapsed.Seconds())}
	case Running, Decided, TimeOver, Stopped:
	}
	if j, failed := s.judgeFailures(p, tier); failed {
		return j
	}
	return s.judgeObjectives(p, tier)
}

// failureRule is the rule about failures of tiers that have none.
func (s *Search) failureRule() string { return fmt.Sprintf("error_rate<=%g%%", 100*s.conf.MaxFailed) }

// judgeFailures finds that more requests fail than any load may have. Objectives about failures replace this rule.
func (s *Search) judgeFailures(p *Probe, tier int) (Judgment, bool) {
	for _, i := range s.tiers[tier] {
		if name := s.objectives[i].Name; name == "error_rate" || name == "failed" {
			return Judgment{}, false
		}
	}
	ended, failed := p.Last.Requests+p.Last.Failures, p.Last.Failures
	if !s.tooManyFail(failed, ended) {
		return Judgment{}, false
	}
	why := fmt.Sprintf("%.3g %% of the requests failed", 100*float64(failed)/float64(ended))
	if f := mainFailure(p.Last.Level); f != nil {
		why += ": " + f.Text
	}
	return Judgment{Verdict: Fails, Decided: true, Objective: s.failureRule(), Why: why}, true
}

// mainFailure is the most frequent failure of a level; nil where there is none.
func mainFailure(lv *result.Level) *result.Failure {
	if lv == nil || len(lv.Failures) == 0 {
		return nil
	}
	f := slices.MaxFunc(lv.Failures, func(a, b result.Failure) int { return cmp.Compare(a.Count, b.Count) })
	return &f
}

// tooManyFail tells whether more requests failed than any load may have, and by more than chance explains.
func (s *Search) tooManyFail(failed, ended int) bool {
	return stats.BinomialTail(float64(failed), float64(ended), s.conf.MaxFailed) <= (1-Level)/2
}

// judgeObjectives gives the verdict of the objective that fails most clearly, or is nearest to failing.
func (s *Search) judgeObjectives(p *Probe, tier int) Judgment {
	var worst estimate
	var nearest *estimate // has the least headroom
	for n, i := range s.tiers[tier] {
		e := estimateOf(p, i, &s.objectives[i])
		if n == 0 || e.compare(&worst) < 0 {
			worst = e
		}
		if e.headroom > 0 && (nearest == nil || e.headroom < nearest.headroom) {
			nearest = &e
		}
	}
	j := Judgment{Verdict: Holds, Decided: worst.decided, Objective: worst.rule.Text, Why: worst.text(p.End == Running), Needs: worst.needs()}
	switch {
	case worst.missing && p.End == Running:
		j.Verdict = Unknown
	case !worst.holds:
		j.Verdict = Fails
	}
	if nearest != nil && (worst.holds || worst.headroom > 0) {
		j.headroom, j.deviation, j.requests = nearest.headroom, nearest.deviation, nearest.count
	}
	switch {
	case !j.Decided:
	case j.Verdict == Holds && !p.Last.steady():
		j.Decided, j.Needs = false, "the number of requests in flight still grows; a longer probe is needed"
	case j.headroom < farHeadroom && j.headroom > 1/farHeadroom && math.Abs(j.headroom-1) < levelDeviations*s.belief(tier).scatter*s.chance(j.requests):
		j.Decided, j.Needs = false, worst.rule.Name+" differs from probe to probe by more than its distance from the limit"
	}
	return j
}

// estimate is the value of one objective's metric in a probe, and what it says about the objective.
type estimate struct {
	rule     *gate.Rule
	value    float64
	unit     string
	count    int
	interval *result.Interval
	missing  bool // holds is then false
	holds    bool // by the value
	decided  bool
	// headroom is the limit divided by the value: it is 1 at the limit, and higher where the objective holds. For a share that must be
	// high, such as goodput, it is the share that may be missing divided by the share that is. In a queue it falls with the load along a
	// straight line, because the latency is in proportion to 1/(1-load). deviation is its standard error. Both are 0 where they are
	// not known.
	headroom, deviation float64
}

func estimateOf(p *Probe, objective int, rule *gate.Rule) estimate {
	e := estimate{rule: rule, missing: true}
	r, ok := p.reading(objective)
	if !ok {
		return e
	}
	e.missing, e.value, e.unit, e.count, e.interval = false, r.Value, r.Unit, r.Count, r.Interval
	e.holds = rule.Holds(e.value)
	e.decided = e.surely()
	e.addHeadroom()
	return e
}

// compare orders estimates from the one that fails most clearly to the one that holds most clearly.
func (e *estimate) compare(other *estimate) int {
	rank := func(e *estimate) int {
		switch {
		case !e.holds && e.decided:
			return 0
		case !e.holds:
			return 1
		case !e.decided:
			return 2
		}
		return 3
	}
	headroom := func(e *estimate) float64 { return cmp.Or(e.headroom, math.Inf(1)) }
	return cmp.Or(cmp.Compare(rank(e), rank(other)), cmp.Compare(headroom(e), headroom(other)))
}

// surely tells whether the whole interval is on one side of the limit. Where requests are too few for an interval, an objective is sure to
// hold that is kept by far: of latencies in a queue, k times a value is exceeded by at most the k-th power of the share that exceeds the
// value. So the highest share that the requests allow decides. They are taken as independent, so few of them count.
func (e *estimate) surely() bool {
	if iv := e.interval; iv != nil && (!iv.Open || !e.holds || e.rule.Op[0] != '<') {
		low, high := e.rule.Holds(iv.Low), !iv.Open && e.rule.Holds(iv.High)
		return low == e.holds && high == e.holds
	}
	p, ok := e.percentile()
	if !ok || !e.holds {
		return false
	}
	share, n := 1-p/100, float64(min(e.count, fewRequests))
	return math.Pow(stats.ShareBounds(share*n, n, Level).High, e.rule.Limit()/e.value) <= share
}

// percentile is that of a latency that must be low.
func (e *estimate) percentile() (p float64, ok bool) {
	if e.rule.Op[0] != '<' || e.unit != "ms" {
		return 0, false
	}
	if p, ok = percentile(e.rule.Name); !ok && (e.rule.Name == "avg" || len(e.rule.Name) > 4 && e.rule.Name[len(e.rule.Name)-4:] == ".avg") {
		return meanPercentile, true
	}
	return p, ok
}

func (e *estimate) addHeadroom() {
	limit, value := e.rule.Limit(), e.value
	if e.rule.Op[0] == '>' {
		if e.unit != "%" {
			return
		}
		limit, value = 100-limit, 100-value
	}
	if limit <= 0 || value < 0 {
		return
	}
	if value == 0 {
		e.headroom = math.Inf(1)
		return
	}
	e.headroom = limit / value
	e.deviation = e.headroom * e.standardError() / value
}

// standardError is that of the value on the side of the limit; 0 where it is not known.
func (e *estimate) standardError() float64 {
	if e.interval == nil {
		return 0
	}
	width := e.value - e.interval.Low
	if !e.interval.Open {
		width = (e.interval.High - e.interval.Low) / 2
	}
	// The interval of a constant has no width.
	return max(width/levelDeviations, 1e-9*math.Abs(e.rule.Limit()), math.SmallestNonzeroFloat32)
}

// needs says what a decision needs.
func (e *estimate) needs() string {
	switch p, ok := percentile(e.rule.Name); {
	case e.decided:
		return ""
	case e.missing:
		return e.rule.Name + " needs a request with a value"
	case e.rule.Name == "error_rate" && e.holds:
		return e.needRequests(e.rule.Limit() / 100)
	case ok && e.holds && (e.interval == nil || e.interval.Open):
		return e.needRequests(1 - p/100)
	}
	return e.rule.Name + " is nearer to its limit than this probe can tell"
}

// needRequests says how many independent requests show that a share of them is lower than the given one.
func (e *estimate) needRequests(share float64) string {
	n := int(math.Ceil(math.Log((1-Level)/2) / math.Log1p(-share)))
	if share <= 0 || e.count >= n {
		return e.rule.Name + " needs a longer probe, because its latencies depend on each other for long"
	}
	return fmt.Sprintf("%s needs %d requests, this probe had %d", e.rule.Name, n, e.count)
}

// text says why the objective gave its verdict.
func (e *estimate) text(running bool) string {
	figure := func(v float64) string { return gate.Figure(result.Reading{Value: v, Unit: e.unit}) }
	figures := figure(e.value)
	if d := e.standardError(); d > 0 {
		figures += " ± " + figure(levelDeviations*d)
	}
	verdict := Fails
	if e.holds {
		verdict = Holds
	}
	switch {
	case e.missing && running:
		return e.rule.Name + " has no value yet"
	case e.missing:
		return e.rule.Name + " has no value: no request gave one"
	case !e.decided && running:
		return fmt.Sprintf("%s is not decided yet: %s", e.rule.Text, figures)
	case !e.decided:
		return fmt.Sprintf("%s %s: %s; not sure: %s", e.rule.Text, verdict, figures, e.needs())
	}
	return fmt.Sprintf("%s %s: %s", e.rule.Text, verdict, figures)
}
