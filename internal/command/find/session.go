package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// session is one search from the options to the exit code.
type session struct {
	*command.IO
	sigs    *command.Signals
	opts    *options
	what    string // profile or llm
	traffic search.Traffic
	tiers   []find.Tier
	outcome *outcome.Outcome
	search  *find.Search
	began   time.Time
	shown   int    // probes that were printed
	note    string // about times that differ from the defaults; may be empty
}

// Default ends of the search, and the time that the requests in flight get.
const (
	lowestRequests  = 10 // of a probe at the lowest rate
	highestRate     = 1e6
	highestInFlight = 4096
	drainTime       = 30 * time.Second // of the single requests
)

func (s *session) run() (int, error) {
	opts, json := s.traffic.Outcome()
	out, err := outcome.Open(s.IO, opts, "find", option.CommandLine("redline find", s.arguments()))
	if err != nil {
		return 0, err
	}
	s.outcome = out
	defer s.outcome.Close()
	sample := s.traffic.Sample()
	sample.Find = s.opts.searched(s.tiers)
	if err := out.CheckRules(sample); err != nil {
		return 0, command.Usage(err)
	}
	s.IO = s.IO.ForRun(opts, s.sigs)
	defer s.traffic.Close()
	if err := s.traffic.Start(s.IO, s.sigs, s.outcome); err != nil {
		return s.failed(err), nil
	}
	s.began = time.Now()
	s.outcome.Begin(s.traffic.Plan())
	s.sigs.Enter(command.Loading)
	err = s.find()
	s.sigs.Enter(command.Writing)
	s.Line.Clear()
	if s.search == nil {
		return s.failed(err), nil
	}
	return s.finish(json, err), nil
}

// failed prints why the search could not start and returns the exit code.
func (s *session) failed(err error) int {
	if s.sigs.Soft.Err() != nil {
		fmt.Fprintln(s.Stderr, "redline find: interrupted before the first probe")
		return command.ExitInterrupted
	}
	fmt.Fprintf(s.Stderr, "redline find: %s\n", cleantext.Line(s.traffic.Advise(err)))
	return command.ExitError
}

// find runs the search.
func (s *session) find() error {
	single, err := find.Estimate(s.sigs.Soft, s.opts.budget, func(ctx context.Context, lv result.Level, first measure.Look, watch measure.Watch) error {
		return s.traffic.Run(ctx, lv, s.estimateDrain(), first, watch)
	})
	if err != nil {
		return err
	}
	conf, err := s.config(single)
	if err != nil {
		return err
	}
	if s.search, err = find.New(conf); err != nil {
		return err
	}
	s.head(single)
	s.outcome.Searching(s.now())
	return s.search.Run(s.sigs.Soft, runner{s}, s.progress)
}

// left is the time that is left of the budget; 0 where it has no limit.
func (s *session) left() time.Duration {
	if s.opts.budget == 0 {
		return 0
	}
	return max(s.opts.budget-time.Since(s.began), time.Millisecond)
}

// estimateDrain is how long the last of the single requests may take.
func (s *session) estimateDrain() time.Duration {
	if s.opts.budget == 0 {
		return drainTime
	}
	return min(drainTime, s.opts.budget/10)
}

// config is the search. Slow responses get longer probes.
func (s *session) config(single time.Duration) (find.Config, error) {
	o := s.opts
	c := find.Config{
		Tiers: s.tiers, Start: o.first, Lowest: o.lowest, Highest: o.highest, Whole: o.by != byRate, Resolution: o.resolution,
		Settle: o.settle, MinTime: o.probeMin, MaxTime: o.probeMax, Confirm: o.confirm, Budget: s.left(), MaxFailed: s.traffic.MaxErrorRate(),
	}
	if p := o.scenario(); p != nil {
		c.ConfirmRequests = p.requests
	}
	c.Times(single)
	if c.MinTime > c.MaxTime { // only one of them was given
		s.fitProbeTimes(&c)
	}
	if o.by == byRate {
		c.Lowest = cmp.Or(c.Lowest, lowestRequests/c.MaxTime.Seconds())
		c.Highest = cmp.Or(c.Highest, highestRate)
		c.Start = cmp.Or(c.Start, 1/single.Seconds())
		return c, nil
	}
	c.Lowest = cmp.Or(c.Lowest, 1)
	c.Start = cmp.Or(c.Start, c.Lowest)
	return c, s.limitInFlight(&c)
}

// fitProbeTimes makes the time that was not given fit the one that was.
func (s *session) fitProbeTimes(c *find.Config) {
	if s.opts.probeMax > 0 {
		s.note = fmt.Sprintf("the shortest time of a probe is lowered from %v to %v, because --probe-max is %v", c.MinTime, c.MaxTime, c.MaxTime)
		c.MinTime = c.MaxTime
		return
	}
	s.note = fmt.Sprintf("the longest time of a probe is raised from %v to %v, because --probe-min is %v", c.MaxTime, c.MinTime, c.MinTime)
	c.MaxTime = c.MinTime
}

// limitInFlight sets the highest number of requests in flight to what this machine can have.
func (s *session) limitInFlight(c *find.Config) error {
	if s.traffic.Plan().Fleet.Workers != "" { // workers have connections of their own
		c.Highest = cmp.Or(c.Highest, highestInFlight)
		return nil
	}
	at := s.traffic.Plan().Target
	if c.Highest > 0 {
		return target.CheckConnections(&at, int(c.Highest))
	}
	for c.Highest = highestInFlight; c.Highest > 1; c.Highest /= 2 {
		if target.CheckConnections(&at, int(c.Highest)) == nil {
			break
		}
	}
	return nil
}

// runner sends the loads of the search.
type runner struct{ *session }

// Run implements find.Runner.
func (r runner) Run(ctx context.Context, load float64, drain time.Duration, first measure.Look, watch measure.Watch) error {
	var last *result.Level
	level := r.level(load)
	noted := search.Noted(watch, func(lv *result.Level) { last = lv })
	err := r.traffic.Run(ctx, level, drain, first, func(sight measure.Sight) (measure.Look, bool) {
		r.outcome.InFlight(&level, sight.Backlog)
		next, more := noted(sight)
		r.outcome.Searching(r.now())
		r.outcome.Progress(func() *result.Level { lv, _ := sight.Level(0); return lv })
		return next, more
	})
	if last != nil {
		r.outcome.LevelEnds(context.WithoutCancel(ctx), last) // an interrupt ends the probe, not its report
	}
	r.showProbes()
	if e, ok := errors.AsType[*service.Error](err); ok && e.Class == record.Connect { // it answered single requests, so the options are right
		return errors.New("the server does not answer: " + target.Reason(e))
	}
	return err
}

func (s *session) level(load float64) result.Level {
	if s.opts.by == byRate {
		return result.Level{Mode: plan.RequestRate, Rate: load}
	}
	return result.Level{Mode: plan.Concurrency, Concurrency: int(math.Round(load))}
}

// finish writes the report and the files, and returns the exit code. err is why the search ended early.
func (s *session) finish(json string, err error) int {
	s.showProbes()
	a := s.search.Answer()
	res := &result.Result{
		Schema: result.Schema, Tool: "redline", Version: s.Version, StartUnixNs: s.began.UnixNano(), EndUnixNs: time.Now().UnixNano(),
		Options: search.Stored(s.arguments()), Levels: append([]result.Level{}, a.Levels()...),
		Find: s.search.Result(s.opts.by), Interrupted: a.State == find.Interrupted,
	}
	res.Find.Preset = s.opts.preset
	workload := s.traffic.Describe(res)
	s.judge(res, &a)
	s.outcome.Sign(res, workload)
	s.answer(res)
	code := exitCode(&a)
	if a.State == find.Failed && err != nil {
		fmt.Fprintf(s.Stderr, "redline find: %s\n", cleantext.Line(s.traffic.Advise(err)))
	} else if a.State == find.Failed || a.State == find.OutOfTime && unanswered(&a) {
		fmt.Fprintf(s.Stderr, "redline find: %s\n", cleantext.Line(a.Reason))
	}
	if werr := report.WriteFile(s.Files, json, res); werr != nil {
		fmt.Fprintln(s.Stderr, werr)
		code = command.ExitUnwritten(werr)
	}
	return s.outcome.Finish(res, code)
}

// judge adds the verdict.
func (s *session) judge(res *result.Result, a *find.Answer) {
	run := measure.Run{
		Levels: res.Levels, Limits: make([][]result.Reason, len(res.Levels)), MaxErrorRate: s.traffic.MaxErrorRate(), Interrupted: res.Interrupted,
		Decided: true,
	}
	if a.State == find.Failed {
		run.Error, run.ServerGone = a.Reason, true
	}
	for _, c := range a.Capacities {
		if c.Outcome == find.ClientLimit && c.Value == 0 && run.Unleveled == nil {
			run.Unleveled = []result.Reason{{What: "the client reached its limit before the server did", Try: clientAdvice}}
		}
	}
	res.Verdict, res.Error = measure.Conclude(run), run.Error
	if a.State == find.OutOfTime && unanswered(a) && res.Verdict.State == result.Valid {
		res.Verdict = result.Verdict{State: result.TooShort, Reasons: []result.Reason{{What: a.Reason + ", and no load held before", Try: "allow more time with --budget, or start lower with --first"}}}
	}
}

// clientAdvice says what to do if the client is the limit.
const clientAdvice = "run the client on a machine of its own, or give it more CPU"

// unanswered tells whether no load held for a tier, though a lower one might have.
func unanswered(a *find.Answer) bool {
	return slices.ContainsFunc(a.Capacities, func(c find.Capacity) bool { return c.Outcome == find.Open })
}

// exitCode is that of the worst answer.
func exitCode(a *find.Answer) int {
	switch a.State {
	case find.Interrupted:
		return command.ExitInterrupted
	case find.Failed:
		return command.ExitError
	case find.Searching, find.Complete, find.OutOfTime:
	}
	code := command.ExitOK
	if unanswered(a) {
		code = command.ExitUnstable
	}
	for _, c := range a.Capacities {
		switch {
		case c.Outcome == find.ClientLimit && c.Value == 0:
			return command.ExitInvalid
		case c.Outcome == find.NoneHolds:
			code = command.ExitAssertion
		}
	}
	return code
}

// arguments are all options of the search without secrets, the traffic first.
func (s *session) arguments() []string {
	return append(append([]string{s.what}, s.opts.table.Arguments()...), s.traffic.Arguments()...)
}
