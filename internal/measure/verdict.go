package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// The rules of the verdict. A level is client-limited when the client, not the server, set its numbers.
const (
	// minRate: a smaller share of the requests that were due means that the client did not send them.
	minRate = 0.99
	// atEdge: a request that is due right before the end of a window may be sent right after it.
	atEdge = 1
	// maxLagShare and minLag: requests sent later than this share of the median latency distort it.
	maxLagShare = 0.1
	minLag      = time.Millisecond
	// minInFlight: a smaller share of the requested concurrency means that the client did not keep up.
	minInFlight = 0.9
	// maxCPU: with more than this share of its processors used the client has no reserve.
	maxCPU = 0.9
	// maxStalled: with a larger share of the time spent waiting for its own records the client was busy writing files.
	maxStalled = 0.01
	// maxStandstill: a longer time in which the whole process did not run distorts the results.
	maxStandstill = 250 * time.Millisecond
)

// Judge returns the reasons why the client limited a level, and marks the level; none if the server limited it. A level
// without requests is not judged.
func Judge(lv *result.Level, l Load) (out []result.Reason) {
	if lv.Client.Requests == 0 {
		return nil
	}
	defer func() { lv.ClientLimited = len(out) > 0 }()
	add := func(try, what string, args ...any) {
		out = append(out, result.Reason{What: fmt.Sprintf(what, args...), Try: try})
	}
	h := &lv.Health
	held := causeOf(h, &l, "lower the concurrency")
	if l.Rate > 0 {
		held = causeOf(h, &l, "lower "+l.Options.Rate)
	}
	if missing := l.Due * (1 - h.AchievedRate/l.Rate); !l.Held && l.Rate > 0 && h.AchievedRate < minRate*l.Rate && missing > atEdge {
		c := held
		switch {
		case l.Serial:
			c = cause{try: "raise --num-of-sequences, or use --streaming without --serial-sequences: a request waits for the answer to the one before it in its sequence"}
		case l.Cap > 0:
			c = cause{try: fmt.Sprintf("use --async, or raise --max-threads above %d", l.Cap)}
		}
		add(c.try, "%s", c.after(fmt.Sprintf("sent %s of the %s requests per second that were due", unit.Digits(h.AchievedRate, 6), unit.Digits(l.Rate, 6))))
	}
	if share, lag := lateness(lv); !l.Held && lag > max(minLag, time.Duration(maxLagShare*lv.Client.Sent.At(50))) {
		c := held
		if l.Serial {
			c = cause{try: "lower the rate, or raise --num-of-sequences"}
		}
		add(c.try, "%s", c.after(fmt.Sprintf("%s of the requests were sent more than %s late", share, unit.Span(float64(lag)))))
		out[len(out)-1].Late = true
	}
	if h.AchievedInFlight < minInFlight*h.AskedInFlight {
		c := held
		if h.MoreConnections > 0 {
			c = cause{try: fmt.Sprintf("use --connections %d, or lower the concurrency", h.MoreConnections)}
		}
		add(c.try, "%s", c.after(fmt.Sprintf("kept %s requests in flight where %s were asked for", unit.Digits(h.AchievedInFlight, 3), unit.Digits(h.AskedInFlight, 4))))
	}
	out = append(out, Stalled(l.Stalled, l.Wall, l.Options.Records)...)
	if l.Standstill > maxStandstill {
		add("do not suspend the client, and give it a machine of its own", "the client did not run for %s", unit.Span(float64(l.Standstill)))
	}
	if l.MaxProcs > 0 && h.CPUCores > maxCPU*float64(l.MaxProcs) {
		add("give the client more cores, or run it on another machine",
			"the client used %.2f of its %d cores", h.CPUCores, l.MaxProcs)
	}
	return out
}

// lateness is the send lag that a share of the requests exceeded: of too few for a p99, half of them.
func lateness(lv *result.Level) (share string, lag time.Duration) {
	if result.Enough(99, lv.Client.Requests) {
		return "1 %", time.Duration(lv.Health.LagP99Ns)
	}
	return "half", time.Duration(lv.Health.LagP50Ns)
}

// Stalled returns the reason that a load waited for its own records; none if the wait was a small part of the time. records
// is the option that wrote them.
func Stalled(stalled, wall time.Duration, records string) []result.Reason {
	if wall <= 0 || stalled <= time.Duration(maxStalled*float64(wall)) {
		return nil
	}
	return []result.Reason{{
		What: fmt.Sprintf("requests waited %s for the records of earlier ones to be written", unit.Span(float64(stalled))),
		Try:  "write to a faster disk, leave out " + records + ", or lower the load",
	}}
}

// Worse joins two verdicts: the state is the worse one, the reasons are those of both.
func Worse(a, b result.Verdict) result.Verdict {
	order := []result.State{result.Valid, result.Unstable, result.TooShort, result.ClientLimited, result.Failed, result.ServerFailed, result.Interrupted}
	if slices.Index(order, b.State) > slices.Index(order, a.State) {
		a.State = b.State
	}
	a.Reasons = append(slices.Clip(a.Reasons), b.Reasons...)
	return a
}

// Run is a whole run, to be judged.
type Run struct {
	Levels []result.Level
	// Limits are, for each level, the reasons why the client limited it.
	Limits [][]result.Reason
	// MaxErrorRate is the share of failed requests above which a level is not valid.
	MaxErrorRate float64
	// Percentile is one more percentile that levels must be long enough for; 0 for none. Longer says how to measure longer.
	Percentile int
	Longer     string
	// Decided: a search has measured each level until its objectives were decided, so that none is too short.
	Decided bool
	// Advice, when set, says what to try after failures of a class with a text; empty leaves it to the class.
	Advice func(class, text string) string
	// More says how to send more requests.
	More string
	// Error is why the run could not be completed; empty if it was. TooShort: no request ended within a window. ServerGone:
	// failed requests ended the run.
	Error      string
	TooShort   bool
	ServerGone bool
	// Unanswered: Error is that no request succeeded.
	Unanswered  bool
	Interrupted bool
	// Unleveled are reasons why the client limited a run that has no levels.
	Unleveled []result.Reason
}

// Conclude returns the verdict on a run, and marks the levels in which the server failed or this machine had no more connections.
//
// Failures of the server come before limits of the client: while a server is away, a client cannot keep its rate, and that
// is not the client's fault.
func Conclude(r Run) result.Verdict {
	v := result.Verdict{State: result.Valid}
	add := func(state result.State, reasons ...result.Reason) {
		v = Worse(v, result.Verdict{State: state, Reasons: reasons})
	}
	if r.Interrupted {
		add(result.Interrupted)
	}
	for i := range r.Levels {
		lv := &r.Levels[i]
		if own := ownLimit(lv); own != nil {
			lv.ClientLimited = true
			add(result.ClientLimited, named(lv, *own))
		} else if why := serverFailed(lv, r.MaxErrorRate); why != nil {
			if r.Advice != nil {
				why.Try = cmp.Or(r.Advice(mainFailure(lv)), why.Try)
			}
			lv.ServerFailed = true
			add(result.ServerFailed, named(lv, *why))
			continue
		}
		for _, why := range r.Limits[i] {
			add(result.ClientLimited, named(lv, why))
		}
		for _, why := range []*result.Reason{r.tooShort(lv), r.tooFew(lv)} {
			if why != nil && !r.Decided {
				lv.TooShort = true
				add(result.TooShort, named(lv, *why))
			}
		}
	}
	if len(r.Unleveled) > 0 {
		add(result.ClientLimited, r.Unleveled...)
	}
	switch {
	case (r.TooShort || r.ServerGone || r.Unanswered) && v.State == result.ServerFailed: // the level's reason is in the verdict
	case r.Error != "" && r.TooShort:
		add(result.TooShort, result.Reason{What: r.Error, Try: "measure longer (--measurement-interval), or by count (--measurement-mode count_windows)"})
	case r.Error != "" && r.ServerGone && !slices.ContainsFunc(r.Levels, func(lv result.Level) bool { return ownLimit(&lv) != nil }):
		add(result.ServerFailed, result.Reason{What: r.Error, Try: "check that the server stays up, and its log"})
	case r.Error != "":
		add(result.Failed, result.Reason{What: r.Error})
	}
	for i := range r.Levels {
		lv := &r.Levels[i]
		if lv.Stable || lv.Reason == "" || lv.ServerFailed || lv.Unfinished && (r.Error != "" || r.Interrupted) {
			continue // the reason for the end is in the verdict
		}
		why := result.Reason{What: lv.Reason}
		if !lv.Unfinished && !lv.ClientLimited { // else the advice is in the reason of the client
			why.Try = "measure longer (--measurement-interval), more often (--max-trials) or allow more spread (--stability-percentage)"
		}
		add(result.Unstable, named(lv, why))
	}
	return v
}

// tooShort is the reason why a level is too short for its latency; nil if it is long enough.
func (r *Run) tooShort(lv *result.Level) *result.Reason {
	q, short := tooShort(&lv.Client, r.Percentile)
	if !short || r.Interrupted && lv.Unfinished { // the user wanted no more
		return nil
	}
	c := &lv.Client
	return &result.Reason{
		What: fmt.Sprintf("too short for this latency: p%g is at least %s; in flight at the end: %s, the oldest for %s",
			q.P, unit.Span(q.V), unit.Count(c.Unfinished, "request"), unit.Span(float64(c.OldestNs))),
		Try: r.Longer,
	}
}

// FewestRequests is the smallest number of requests of a level whose stability was not tested that can be judged: with fewer,
// even the mean is uncertain.
const FewestRequests = 30

// tooFew is the reason why a level whose stability was not tested has too few requests to judge; nil if it has enough. A level
// that was not finished has another reason.
func (r *Run) tooFew(lv *result.Level) *result.Reason {
	c := &lv.Client
	if !lv.Untested || lv.Unfinished || c.Requests == 0 || c.Requests >= FewestRequests {
		return nil
	}
	return &result.Reason{
		What: fmt.Sprintf("too short to judge: %s in %s; stability was not tested", unit.Count(c.Requests, "request"), unit.Span(float64(c.DurationNs))),
		Try:  r.More,
	}
}

// named puts the name of a level before a reason.
func named(lv *result.Level, r result.Reason) result.Reason {
	r.What = LevelName(lv) + ": " + r.What
	return r
}

// LevelName names a level as the reports do.
func LevelName(lv *result.Level) string {
	switch {
	case lv.Class == "":
		return LoadName(lv)
	case lv.Mode == "" || len(lv.Stages) > 0: // all classes together, or the only level of a class
		return withPrompts(lv.Class, lv)
	}
	return lv.Class + ", " + LoadName(lv)
}

// LoadName names a level without its traffic class.
func LoadName(lv *result.Level) string { return withPrompts(loadName(lv), lv) }

// withPrompts adds the prompts of a level if other levels differ in these.
func withPrompts(name string, lv *result.Level) string {
	if lv.Prompts == "" {
		return name
	}
	return name + ", " + lv.Prompts
}

func loadName(lv *result.Level) string {
	if len(lv.Stages) > 0 {
		return stagesName(lv)
	}
	switch lv.Mode {
	case plan.FixedSchedule:
		return "fixed schedule"
	case plan.SessionConcurrency:
		return fmt.Sprintf("%d sessions", lv.Concurrency)
	case plan.PeriodicConcurrency:
		return fmt.Sprintf("periodic concurrency up to %d", lv.Concurrency)
	case plan.Concurrency, plan.RequestRate, plan.CustomIntervals:
	}
	if lv.Concurrency > 0 {
		return fmt.Sprintf("concurrency %d", lv.Concurrency)
	}
	return "request rate " + unit.Digits(lv.Rate, 6)
}

// stagesName names a load that changes: its stages, or only their number where they are many.
func stagesName(lv *result.Level) string {
	what := "request rate"
	if lv.Mode == plan.Concurrency {
		what = "concurrency"
	}
	const most = 4
	if len(lv.Stages) > most {
		return fmt.Sprintf("%s in %d stages", what, len(lv.Stages))
	}
	return what + " in stages " + pace.FormatStages(lv.Stages)
}
