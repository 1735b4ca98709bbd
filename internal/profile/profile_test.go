package profile_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// journal is an observer that remembers what it was told.
type journal struct {
	begun    []result.Level
	passes   int
	ended    []result.Level
	warnings []profile.WarningKind
	together int
}

func (j *journal) LevelBegins(lv *result.Level, _ bool) { j.begun = append(j.begun, *lv) }
func (j *journal) Pass(int, *result.Window)             { j.passes++ }
func (j *journal) LevelEnds(lv *result.Level)           { j.ended = append(j.ended, *lv) }
func (j *journal) RanksStable()                         { j.together++ }
func (j *journal) Progress(profile.Progress)            {}
func (j *journal) Warn(w profile.Warning)               { j.warnings = append(j.warnings, w.Kind) }

// perfPlan is basePlan in perf_analyzer mode.
func perfPlan() *plan.Plan {
	p := basePlan()
	mode, _, err := flags.Parse(flags.PerfAnalyzer, []string{"-m", "x"}, nil)
	if err != nil {
		panic(err)
	}
	p.Target, p.Policies = mode.Target, mode.Policies
	return p
}

func basePlan() *plan.Plan {
	return &plan.Plan{
		Load: plan.Load{
			Mode: plan.Concurrency, Search: plan.Linear, MaxThreads: 4, Distribution: plan.Constant,
			Concurrency: plan.IntRange{Start: 1, End: 1, Step: 1}, Rate: plan.FloatRange{Start: 1, End: 1, Step: 1},
		},
		Input: plan.Input{Batch: 1},
		Measure: plan.Measure{
			Window: plan.TimeWindows, Interval: 120 * time.Millisecond, MinRequests: 50, Stability: 99, MaxTrials: 3,
			StopOnFailure: true, FromSend: true,
		},
	}
}

// run runs a plan in simulated time, one hour at most.
func runPlan(t *testing.T, p *plan.Plan, svc *testkit.Service, edit func(*profile.Runner)) (res *result.Result, j *journal, err error) {
	t.Helper()
	j = &journal{}
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		m, _ := svc.Describe(ctx)
		r := &profile.Runner{
			Plan: p, Service: svc, Model: m, Observer: j,
			Source: func(int, int) engine.Source { return testkit.Source{} },
		}
		if edit != nil {
			edit(r)
		}
		res, err = r.Run(ctx, ctx)
	})
	return res, j, err
}

func pinned(d time.Duration) *testkit.Service {
	return &testkit.Service{Answer: func(int64) (time.Duration, error) { return d, nil }}
}

// Throughput must be concurrency divided by latency.
func TestClosedLoopNumbersAgreeWithEachOther(t *testing.T) {
	p := perfPlan()
	p.Load.Concurrency = plan.IntRange{Start: 2, End: 6, Step: 4}
	p.Measure.Interval = 300 * time.Millisecond
	res, j, err := runPlan(t, p, pinned(10*time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Levels) != 2 || j.passes != 6 {
		t.Fatalf("%d levels, %d passes", len(res.Levels), j.passes)
	}
	for _, lv := range res.Levels {
		want := float64(lv.Concurrency) / (float64(lv.Client.Latency.Avg) / 1e9)
		if math.Abs(lv.Client.InferPerSec/want-1) > 0.1 {
			t.Errorf("concurrency %d: %g infer/sec with a mean latency of %s", lv.Concurrency, lv.Client.InferPerSec, time.Duration(lv.Client.Latency.Avg))
		}
		if c := lv.Client.Latency; c.Min != float64(10*time.Millisecond) || c.Max != c.Min {
			t.Errorf("latencies of %s to %s for a server that takes 10 ms", time.Duration(c.Min), time.Duration(c.Max))
		}
		if lv.Server == nil || lv.Server.Stats.InferenceCount < lv.Client.Requests/2 {
			t.Errorf("server counted %+v for %d requests", lv.Server, lv.Client.Requests)
		}
		for i := 1; i < len(lv.Windows); i++ {
			if lv.Windows[i].StartUnixNs != lv.Windows[i-1].EndUnixNs {
				t.Error("windows are not contiguous")
			}
		}
	}
}

func TestBatchCountsInferences(t *testing.T) {
	p := perfPlan()
	p.Input.Batch = 4
	p.Measure.RequestCount, p.Measure.Window = 20, plan.CountWindows
	res, _, err := runPlan(t, p, pinned(time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := res.Levels[0].Client
	if want := 4 * 20 / (float64(c.DurationNs) / 1e9); math.Abs(c.InferPerSec/want-1) > 1e-3 {
		t.Errorf("%g infer/sec, want %g", c.InferPerSec, want)
	}
}

// A request count is divided by the time from the first send to the last end, not by polling intervals.
func TestRequestCountIsDividedByTheTimeItTook(t *testing.T) {
	p := perfPlan()
	p.Measure.RequestCount, p.Measure.Window = 20, plan.CountWindows
	svc := pinned(5 * time.Millisecond)
	res, j, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := res.Levels[0].Client
	if c.Requests != 20 || svc.Sent() != 20 || j.passes != 1 {
		t.Errorf("%d requests, %d sent, %d passes", c.Requests, svc.Sent(), j.passes)
	}
	if want := 20 * 5 * time.Millisecond; c.DurationNs != int64(want) {
		t.Errorf("20 requests of 5 ms took %s", time.Duration(c.DurationNs))
	}
}

func TestWarmUpDoesNotCount(t *testing.T) {
	p := perfPlan()
	p.Load.Concurrency = plan.IntRange{Start: 4, End: 1, Step: 1}
	p.Measure.RequestCount, p.Measure.Window, p.Measure.WarmupCount = 20, plan.CountWindows, 2
	svc := pinned(time.Millisecond)
	res, j, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	if svc.Sent() != 22 || res.Levels[0].Client.Requests != 20 {
		t.Errorf("%d sent, %d counted", svc.Sent(), res.Levels[0].Client.Requests)
	}
	if len(j.begun) != 2 || j.begun[0].Concurrency != 2 || j.begun[1].Concurrency != 4 {
		t.Errorf("levels begun: %+v", j.begun)
	}
	if len(j.warnings) != 1 || j.warnings[0] != profile.WarmupExceeded {
		t.Errorf("warnings %v", j.warnings)
	}
}

func TestUnstableFirstLevelFails(t *testing.T) {
	for _, p := range []*plan.Plan{perfPlan(), basePlan()} {
		p.Measure.Stability = 0
		slower := &testkit.Service{Answer: func(n int64) (time.Duration, error) { return time.Duration(n+1) * 100 * time.Microsecond, nil }}
		res, _, err := runPlan(t, p, slower, nil)
		if !errors.Is(err, profile.ErrUnstable) {
			t.Errorf("%+v: %v", p.Policies, err)
		}
		if len(res.Levels) != 1 || res.Levels[0].Stable || res.Levels[0].Reason == "" || res.Levels[0].Client.Requests == 0 {
			t.Errorf("%+v: the unstable level must be kept with its numbers: %+v", p.Policies, res.Levels)
		}
	}
}

func TestWindowWithoutRequests(t *testing.T) {
	p := perfPlan()
	p.Measure.Interval = 5 * time.Millisecond
	_, _, err := runPlan(t, p, pinned(200*time.Millisecond), nil)
	if !errors.Is(err, profile.ErrNoRequests) {
		t.Errorf("got %v", err)
	}
}

func TestCountWindowsEndAtTheCount(t *testing.T) {
	p := perfPlan()
	p.Measure.Window, p.Measure.MinRequests = plan.CountWindows, 30
	res, _, err := runPlan(t, p, pinned(time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range res.Levels[0].Windows {
		if w.Client.Requests < 30 {
			t.Errorf("a window of %d requests", w.Client.Requests)
		}
	}
}

func TestFailureStopsPerfAnalyzerModeAndKeepsWhatWasMeasured(t *testing.T) {
	p := perfPlan()
	p.Measure.Interval = time.Minute
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n == 40 {
			return 0, errors.New("boom")
		}
		return time.Millisecond, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	var load *profile.LoadError
	if !errors.As(err, &load) || len(load.Workers) != 1 || load.Workers[0].Err.Error() != "boom" {
		t.Fatalf("got %v", err)
	}
	lv := res.Levels[0]
	if lv.Client.Requests != 40 || lv.Client.Failed != 1 || len(lv.Failures) != 1 || lv.Accepted {
		t.Errorf("%d requests, %d failed, %v", lv.Client.Requests, lv.Client.Failed, lv.Failures)
	}
}

// mute is a service whose statistics can be read once; from the second time on its requests fail as well.
type mute struct {
	*testkit.Service
	reads *atomic.Int64
}

func (m mute) Stats(ctx context.Context) ([]service.ModelStats, error) {
	if m.reads.Add(1) > 1 {
		return nil, errors.New("no statistics")
	}
	return m.Service.Stats(ctx)
}

// A server that died between a request and the end of a window cannot be asked for its statistics either; what the
// requests met is the reason.
func TestFailedRequestsSayMoreThanFailedStatistics(t *testing.T) {
	var reads atomic.Int64
	p := perfPlan()
	p.Measure.Interval = 100 * time.Millisecond
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) {
		if reads.Load() > 1 {
			return 0, errors.New("boom")
		}
		return time.Millisecond, nil
	}}
	_, _, err := runPlan(t, p, svc, func(r *profile.Runner) { r.Service = mute{svc, &reads} })
	var load *profile.LoadError
	if !errors.As(err, &load) || load.Workers[0].Err.Error() != "boom" {
		t.Errorf("got %v", err)
	}
}

func TestRedlineCountsFailuresAndGoesOn(t *testing.T) {
	p := basePlan()
	p.Measure.StopOnFailure = false
	p.Measure.RequestCount, p.Measure.Window = 100, plan.CountWindows
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n%10 == 9 {
			return 0, errors.New("boom")
		}
		return 0, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if lv.Client.Requests != 90 || lv.Client.Failed != 10 || lv.Failures[0].Count != 10 {
		t.Errorf("%d good, %d failed: %+v", lv.Client.Requests, lv.Client.Failed, lv.Failures)
	}
}

// A server that dies takes many windows with it; what it answered before that is still in the report.
func TestWhatADeadServerAnsweredIsReported(t *testing.T) {
	p := basePlan()
	p.Measure.StopOnFailure = false
	p.Measure.Interval, p.Measure.MaxTrials, p.Measure.Stability = 40*time.Millisecond, 40, 0
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n >= 150 {
			return 20 * time.Millisecond, errors.New("gone")
		}
		return time.Duration(25+n) * 20 * time.Microsecond, nil // slower and slower: never stable
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if !errors.Is(err, profile.ErrNoRequests) {
		t.Fatalf("got %v", err)
	}
	lv := res.Levels[0]
	if lv.Client.Requests == 0 || len(lv.Failures) != 1 || lv.Used == 0 || lv.Dead < 3 || lv.Accepted {
		t.Errorf("%d requests, %d of %d windows, %d dead, %v", lv.Client.Requests, lv.Used, len(lv.Windows), lv.Dead, lv.Failures)
	}
}

func TestMaxErrorRateEndsTheRun(t *testing.T) {
	p := basePlan()
	p.Measure.StopOnFailure, p.Measure.MaxErrorRate = false, 0.05
	p.Measure.Interval = time.Minute
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n%10 == 9 {
			return time.Millisecond, errors.New("boom")
		}
		return time.Millisecond, nil
	}}
	_, _, err := runPlan(t, p, svc, nil)
	if !errors.As(err, new(*profile.LoadError)) {
		t.Errorf("got %v", err)
	}
}

func TestInterruptReportsThePartialWindow(t *testing.T) {
	p := perfPlan()
	p.Measure.Interval = time.Hour
	testkit.Simulate(t, func(t *testing.T) {
		soft, stop := context.WithCancel(t.Context())
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n == 50 {
				stop()
			}
			return time.Millisecond, nil
		}}
		m, _ := svc.Describe(soft)
		r := &profile.Runner{Plan: p, Service: svc, Model: m, Observer: &journal{}, Source: func(int, int) engine.Source { return testkit.Source{} }}
		res, err := r.Run(soft, t.Context())
		if !errors.Is(err, run.ErrInterrupted) || !res.Interrupted {
			t.Fatalf("got %v", err)
		}
		if len(res.Levels) != 1 || res.Levels[0].Client.Requests < 50 {
			t.Errorf("what was measured is lost: %+v", res.Levels)
		}
	})
}

// Six in flight at 10 ms is over a limit of 5 ms: the level is kept, marked, and ends the search.
func TestLatencyLimitEndsTheSearch(t *testing.T) {
	p := perfPlan()
	p.Load.Concurrency = plan.IntRange{Start: 1, End: 9, Step: 2}
	p.Measure.LatencyLimit = 50 * time.Millisecond
	svc := &testkit.Service{}
	svc.Answer = func(int64) (time.Duration, error) {
		if svc.MostInFlight() > 3 {
			return 60 * time.Millisecond, nil
		}
		return time.Millisecond, nil
	}
	p.Measure.Interval = 150 * time.Millisecond
	res, _, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	var visited []int
	for _, lv := range res.Levels {
		visited = append(visited, lv.Concurrency)
	}
	last := res.Levels[len(res.Levels)-1]
	if len(visited) != 3 || !last.OverLimit || last.Accepted || last.Client.Requests == 0 {
		t.Errorf("visited %v, last %+v", visited, last)
	}
}

func TestRateModeReportsFromTheScheduleOrTheSend(t *testing.T) {
	p := perfPlan()
	p.Load.Mode, p.Load.MaxThreads = plan.RequestRate, 1
	p.Load.Rate = plan.FloatRange{Start: 200, End: 1, Step: 1}
	p.Measure.RequestCount, p.Measure.Window = 20, plan.CountWindows
	p.Measure.FromSend = false
	res, _, err := runPlan(t, p, pinned(20*time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := res.Levels[0].Client
	// One in flight at 20 ms against a schedule of one each 5 ms: the twentieth waits for 19 × 15 ms.
	if c.Latency.Max != c.Due.Max || c.Due.Max != c.Sent.Max+float64(19*15*time.Millisecond) {
		t.Errorf("from the schedule %s, from the send %s", time.Duration(c.Due.Max), time.Duration(c.Sent.Max))
	}
	if c.Delayed != 19 {
		t.Errorf("%d of 20 marked as delayed", c.Delayed)
	}
	if res.Verdict.State != result.ClientLimited {
		t.Errorf("verdict %+v", res.Verdict)
	}
}

// The export sees each counted request once, and the edges of the windows.
type exports struct {
	requests   int
	boundaries []int64
}

func (e *exports) Begin(plan.Mode, int, float64) error { return nil }
func (e *exports) Request(*record.Record, []record.Event, []byte) error {
	e.requests++
	return nil
}
func (e *exports) End(b []int64) error { e.boundaries = b; return nil }

func TestExportSeesExactlyWhatIsCounted(t *testing.T) {
	p := perfPlan()
	x := &exports{}
	res, _, err := runPlan(t, p, pinned(time.Millisecond), func(r *profile.Runner) { r.Exporter = x })
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, w := range res.Levels[0].Windows {
		total += int(w.Client.Requests)
	}
	if x.requests != total || len(x.boundaries) != 4 {
		t.Errorf("%d exported, %d counted; boundaries %v", x.requests, total, x.boundaries)
	}
}

// ranks says that the others are stable from the n-th question on.
type ranks struct{ asked, from int }

func (r *ranks) AllStable(_ context.Context, stable bool) (bool, error) {
	r.asked++
	return stable && r.asked >= r.from, nil
}

func TestRanksGoOnUntilAllAreStable(t *testing.T) {
	p := perfPlan()
	p.Measure.MaxTrials = 10
	others := &ranks{from: 5}
	_, j, err := runPlan(t, p, pinned(time.Millisecond), func(r *profile.Runner) { r.Ranks = others })
	if err != nil || j.passes != 5 || j.together != 1 {
		t.Errorf("%d passes, told %d times, %v", j.passes, j.together, err)
	}
}

// The server stalls once for 200 ms while requests are due every 10 ms. A client that starts the clock at the send
// sees one slow request; the truth is that some twenty had to wait, and the latency from the schedule shows them.
func TestAStallOfTheServerIsInTheHeadline(t *testing.T) {
	const stall = 200 * time.Millisecond
	p := basePlan()
	p.Load.Mode, p.Load.MaxThreads = plan.RequestRate, 1
	p.Load.Rate = plan.FloatRange{Start: 100, End: 1, Step: 1}
	p.Measure.RequestCount, p.Measure.Window = 150, plan.CountWindows
	p.Measure.FromSend, p.Measure.StopOnFailure = false, false
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n == 50 {
			return stall, nil
		}
		return 0, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := res.Levels[0].Client
	if got := time.Duration(c.Latency.At(99)); got < stall*8/10 {
		t.Errorf("the p99 from the schedule is %s and misses a stall of %s", got, stall)
	}
	if c.Latency.At(95) < float64(stall/3) {
		t.Errorf("p95 %s: the requests that waited behind the stall are missing", time.Duration(c.Latency.At(95)))
	}
	if c.Sent.At(95) > c.Due.At(95)/2 {
		t.Errorf("from the send p95 is %s: the test shows nothing", time.Duration(c.Sent.At(95)))
	}
}
