package compare_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

func TestReportNamesTheChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := run(rng, "narrow", 1000, 1), run(rng, "narrow", 1000, 1.3)
	b.Verdict.State, b.Workload, a.Workload = result.ClientLimited, "x", "y"
	rep, err := compare.Runs([]compare.Side{{Name: "old", Run: a}}, []compare.Side{{Name: "new\x1b[31m|<b>", Run: b}}, compare.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var text, md strings.Builder
	if err := rep.WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteMarkdown(&md); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"B is worse than A", "throughput (/s)", "worse", "client-limited", "a different workload", "concurrency 8"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing from\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") || strings.Contains(md.String(), "<b>") {
		t.Errorf("foreign text got through:\n%s\n%s", text.String(), md.String())
	}
	worse := rep.Regressions(0.03)
	if len(worse) == 0 || len(rep.Regressions(0.5)) != 0 {
		t.Errorf("regressions past 3 %%: %v, past 50 %%: %v", worse, rep.Regressions(0.5))
	}
}

// A CSV says nothing of its spread, so its error is unknown, and not 0: it cannot be compared with one run, however well
// that run is known. Three against three show how runs differ.
func TestRunsWithoutSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	measured := scaled(simulate(rng, shapes["narrow"], 10_000), 1)
	bare := func(share float64) *result.Result {
		c := result.Client{InferPerSec: share * measured.Levels[0].Client.InferPerSec}
		return &result.Result{Levels: []result.Level{{Mode: plan.Concurrency, Concurrency: inFlight, Client: c}}}
	}
	f := func(what string, a, b []*result.Result, want compare.Finding) {
		t.Helper()
		if got := finding(t, a, b); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	one := func(runs ...*result.Result) []*result.Result { return runs }
	f("one against one", one(bare(1)), one(bare(0.5)), compare.Unknown)
	f("a file against a measured run", one(bare(1.5)), one(measured), compare.Unknown)
	f("a measured run against a file", one(measured), one(bare(0.5)), compare.Unknown)
	f("three against three, 10 % apart", one(bare(1), bare(1.01), bare(0.99)), one(bare(0.9), bare(0.91), bare(0.89)), compare.Worse)
	f("three against three, equal", one(bare(1), bare(1.003), bare(0.997)), one(bare(0.998), bare(1.004), bare(1)), compare.Same)
	f("three against three, to the digit", one(bare(1), bare(1), bare(1)), one(bare(1), bare(1), bare(1)), compare.Same)
	f("three against three with a spread of 10 %", one(bare(1), bare(1.1), bare(0.9)), one(bare(0.95), bare(1.06), bare(0.92)), compare.Unknown)
	f("a file against three measured runs", one(bare(0.5)), one(measured, measured, measured), compare.Better)
}

// The headline names what is better and what is worse, level by level; what makes runs incomparable comes before the numbers.
func TestHeadlineWeighsAllRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	a, b := run(rng, "narrow", 1000, 1), run(rng, "narrow", 1000, 0.5)
	more := func(to *result.Result, factor float64) {
		lv := run(rng, "narrow", 1000, factor).Levels[0]
		lv.Concurrency = 16
		to.Levels = append(to.Levels, lv)
	}
	more(a, 1)
	more(b, 2)
	rep := report(t, []*result.Result{a}, []*result.Result{b})
	better, worse, ok := strings.Cut(rep.Headline, "; worse in ")
	if !ok || !strings.HasPrefix(better, "B is better and worse than A: better in throughput +") || !strings.HasSuffix(better, " at concurrency 8") || !strings.HasSuffix(worse, " at concurrency 16") {
		t.Errorf("the headline is %q", rep.Headline)
	}
	a.GoodputBounds, b.GoodputBounds, a.Workload, b.Workload = "ttft:200", "ttft:300", "x", "y"
	var text strings.Builder
	if err := report(t, []*result.Result{a}, []*result.Result{b}).WriteText(&text, 0); err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(text.String(), "change")
	for _, want := range []string{"a different workload", "the goodput bounds differ, so goodput is not compared: ttft:200 in run, ttft:300 in run"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q does not stand before the numbers:\n%s", want, text.String())
		}
	}
}

// What is found lies wholly on one side of 0 in the interval that is shown, and nothing else does.
func TestIntervalsShowWhatWasDecided(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const steps = 20
	for _, least := range []float64{0, 0.02} {
		for i := range steps {
			factor := 1 + 0.003*float64(i)
			o := compare.Options{Confidence: 0.95, Least: least}
			rep, err := compare.Runs(sides(run(rng, "narrow", 1000, 1)), sides(run(rng, "narrow", 1000, factor)), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rep.Rows {
				outside, beyond := r.Low > 0 || r.High < 0, r.Low > least || r.High < -least
				found, slight := r.Finding == compare.Worse || r.Finding == compare.Better, r.Finding == compare.Slight
				if found != beyond || slight != (outside && !beyond) {
					t.Errorf("least %g, %s: %s with the interval %g to %g", least, r.Name, r.Finding, r.Low, r.High)
				}
			}
		}
	}
}

func TestErrorsCount(t *testing.T) {
	with := func(failed uint64) *result.Result {
		return &result.Result{Levels: []result.Level{{Mode: plan.Concurrency, Concurrency: 1, Client: result.Client{Requests: 10_000 - failed, Failed: failed}}}}
	}
	if f := finding(t, []*result.Result{with(0)}, []*result.Result{with(200)}); f != compare.Worse {
		t.Errorf("two per cent of failures are %s", f)
	}
	if f := finding(t, []*result.Result{with(3)}, []*result.Result{with(5)}); f != compare.Same {
		t.Errorf("five failures after three are %s", f)
	}
}

func TestNothingInCommonIsSaid(t *testing.T) {
	a := &result.Result{Levels: []result.Level{{Concurrency: 1}, {Concurrency: 2}}}
	b := &result.Result{Levels: []result.Level{{Concurrency: 4}, {Concurrency: 8}}}
	_, err := compare.Runs(sides(a), sides(b), compare.Defaults())
	if err == nil || !strings.Contains(err.Error(), "concurrency 1, concurrency 2 against concurrency 4") {
		t.Error(err)
	}
}

// A number that is nothing in one of several runs has no logarithm: the comparison must stay a number.
func TestZeroAmongSeveralRuns(t *testing.T) {
	rep, err := compare.Runs([]compare.Side{queued(0), queued(5)}, []compare.Side{queued(0), queued(5)}, compare.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(rep); err != nil {
		t.Error(err)
	}
}

// queued is a run whose server says that requests waited so many microseconds.
func queued(us uint64) compare.Side {
	lv := result.Level{Mode: plan.Concurrency, Concurrency: 1, Server: &result.Server{}, Client: result.Client{Requests: 10, InferPerSec: 100}}
	lv.Server.Stats.Queue = service.Tally{Count: 10, Ns: 10 * us * 1000}
	return compare.Side{Name: "run", Run: &result.Result{Levels: []result.Level{lv}}}
}

// Two runs are not compared by a percentile for which they have too few requests, as reports do not show it.
func TestPercentilesNeedRequests(t *testing.T) {
	has := func(n int, name string) bool {
		rng := rand.New(rand.NewPCG(5, 6))
		rep, err := compare.Runs(sides(run(rng, "narrow", n, 1)), sides(run(rng, "narrow", n, 1)), compare.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(rep.Rows, func(r compare.Row) bool { return r.Name == name })
	}
	if !has(60, "p50") || has(60, "p99") || !has(1000, "p99") {
		t.Errorf("60 requests: p50 %v, p99 %v; 1000 requests: p99 %v", has(60, "p50"), has(60, "p99"), has(1000, "p99"))
	}
}
