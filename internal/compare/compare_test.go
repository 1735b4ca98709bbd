package compare_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

func TestReportNamesTheChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	lib := library(rng, shapes["lognormal"])
	a, b := simulate(rng, lib, 1), simulate(rng, lib, 1.3)
	b.Verdict.State, b.Workload, a.Workload = result.ClientLimited, "x", "y"
	rep, err := compare.Runs([]compare.Side{{Name: "old", Run: a}}, []compare.Side{{Name: "new\x1b[31m|<b>", Run: b}}, compare.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var text, md strings.Builder
	if err := rep.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteMarkdown(&md); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"B is worse than A", "throughput (/s)", "worse", "client-limited", "another workload", "concurrency 8"} {
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

// A CSV says nothing of its spread: one against one cannot be judged, three against three can.
func TestRunsWithoutSpread(t *testing.T) {
	bare := func(throughput float64) *result.Result {
		return &result.Result{Levels: []result.Level{{Mode: plan.Concurrency, Concurrency: 1, Client: result.Client{InferPerSec: throughput}}}}
	}
	if f := finding(t, []*result.Result{bare(100)}, []*result.Result{bare(50)}); f != compare.Unknown {
		t.Errorf("one against one: %s", f)
	}
	if f := finding(t, []*result.Result{bare(100), bare(101), bare(99)}, []*result.Result{bare(90), bare(91), bare(89)}); f != compare.Worse {
		t.Errorf("three against three, 10 %% apart: %s", f)
	}
	if f := finding(t, []*result.Result{bare(100), bare(110), bare(90)}, []*result.Result{bare(95), bare(106), bare(92)}); f != compare.Same {
		t.Errorf("three against three, within their own spread: %s", f)
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
