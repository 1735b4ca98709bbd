package gate_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

func level() result.Level {
	lat := result.Metric{Unit: result.Nanoseconds, Count: 999, Avg: 12e6, Max: 80e6, Quantiles: []result.Quantile{{P: 50, V: 10e6}, {P: 99, V: 50e6}, {P: 99.9, V: 70e6}}}
	return result.Level{
		Mode: plan.Concurrency, Concurrency: 8,
		Client: result.Client{Requests: 999, Failed: 1, InferPerSec: 950, Latency: lat, Sent: lat, First: &lat},
		Server: &result.Server{Stats: service.ModelStats{Queue: service.Tally{Count: 2, Ns: 4e6}}},
		Metrics: []result.Metric{{
			Tag: "time_to_first_token", Unit: "ms", Avg: 30, Max: 90, Quantiles: []result.Quantile{{P: 99, V: 80}},
		}},
		Health: result.Health{LagP99Ns: 2e6},
	}
}

func TestRules(t *testing.T) {
	f := func(rule string, want bool) {
		t.Helper()
		r, err := gate.Parse(rule)
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			return
		}
		lv := level()
		got, ok, err := r.Check(&lv)
		if err != nil || ok != want {
			t.Errorf("%s: %v (found %v), %v", rule, ok, got, err)
		}
	}
	f("p99<51ms", true)
	f("p99 < 50ms", false)
	f("p99<=50ms", true)
	f("p99<=0.05s", true)
	f("p99<50000us", false)
	f("p99<51", true) // milliseconds where no unit is given
	f("p99>=50ms", true)
	f("latency.p50==10ms", true)
	f("avg!=12ms", false)
	f("max<1s", true)
	f("throughput>900", true)
	f("throughput>1_000/s", false)
	f("error_rate<0.1%", false) // exactly a tenth of a percent
	f("error_rate<=0.1%", true)
	f("ttft.p99<100ms", true)
	f("time_to_first_token<30", false)
	f("ttft.max<=90ms", true)
	f("first.p99<51ms", true)
	f("server.queue<=2ms", true)
	f("lag.p99<1ms", false)
}

func TestARuleNeedsEnoughRequests(t *testing.T) {
	lv := level() // of 999 requests
	r, err := gate.Parse("p99.9<1s")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fits(&gate.Sample{Level: &lv}); err != nil {
		t.Errorf("before the run: %v", err)
	}
	g := gate.Apply(&result.Result{Levels: []result.Level{lv}, Verdict: result.Verdict{State: result.Valid}}, []gate.Rule{r})
	want := "p99.9 needs at least 1000 requests, and the level has 999"
	if f := g.Findings[0]; !f.Unknown || f.OK || f.Text != want || g.Outcome() != gate.Void {
		t.Errorf("%+v, want %q", f, want)
	}
}

func TestARuleIsCheckedBeforeTheRun(t *testing.T) {
	f := func(rule string, values []float64, want string) {
		t.Helper()
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		lv := level()
		if err := r.Fits(&gate.Sample{Level: &lv, Values: values}); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
	f("p99<1ns", []float64{1, 8}, "<nil>")
	f("p99<1ns@8", []float64{1, 8}, "<nil>")
	f("p99<1ns@8", nil, "<nil>")
	f("p99<1ns@9", []float64{1, 8}, "p99<1ns@9: the run has no level 9")
	f("goodput>1", nil, "goodput: this run does not measure it; give the bounds with --goodput of 'redline llm'")
	f("throughput<5ms", nil, "throughput is in /s, so throughput<5ms cannot be its bound")
	f("P99<1ns", nil, "<nil>")
	f("capacity>5", nil, "capacity: this run does not measure it; use p50 to p99.99, avg, max, throughput, error_rate, in_flight, lag.p99, first.p99, server.queue, server.compute or, for language models, ttft.p99, itl.avg and so on")
}

// The run says what it needs for a number that it does not have.
func TestAHintTakesThePlaceOfTheList(t *testing.T) {
	lv := level()
	s := &gate.Sample{Level: &lv, Hint: func(r *gate.Rule) string {
		if r.Name == "itl.p99" {
			return "add --streaming"
		}
		return ""
	}}
	for rule, want := range map[string]string{"ITL.p99<1s": "itl.p99: add --streaming", "nothing<1": "nothing: this run does not measure it; use p50"} {
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Fits(s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestBadRulesSayWhatIsWrong(t *testing.T) {
	f := func(rule, want string) {
		t.Helper()
		r, err := gate.Parse(rule)
		if err == nil {
			lv := level()
			_, _, err = r.Check(&lv)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", rule, err, want)
		}
	}
	f("", "NAME<VALUE")
	f("p99", "NAME<VALUE")
	f("<50ms", "NAME<VALUE")
	f("p99<fast", "not a number")
	f("p99<50parsec", `"parsec"`)
	f("p99<50ms@lots", `"lots"`)
	f("p99<50%", "in ms")
	f("p98.7<50ms", "does not measure it")
	f("speed>3", "does not measure it")
}

func TestAGateThatChecksNothingDoesNotPass(t *testing.T) {
	r, err := gate.Parse("p99<1s@16")
	if err != nil {
		t.Fatal(err)
	}
	res := &result.Result{Levels: []result.Level{level()}, Verdict: result.Verdict{State: result.Valid}}
	if g := gate.Apply(res, []gate.Rule{r}); g.Outcome() != gate.Missed {
		t.Errorf("a rule about a level that was not measured: %+v", g)
	}
}

// A rate is found by the number that the user wrote: the search adds rates up as decimals.
func TestARuleFindsItsRate(t *testing.T) {
	r, err := gate.Parse("p99<1s@20.2")
	if err != nil {
		t.Fatal(err)
	}
	lv := level()
	lv.Concurrency, lv.Rate = 0, 20.2
	res := &result.Result{Levels: []result.Level{lv}, Verdict: result.Verdict{State: result.Valid}}
	if g := gate.Apply(res, []gate.Rule{r}); g.Outcome() != gate.Passed {
		t.Errorf("%+v", g)
	}
}

// A client at its limit says nothing of the server, whether the rules hold or not.
func TestClientLimitedRunIsVoid(t *testing.T) {
	r, _ := gate.Parse("p99<1s")
	res := &result.Result{Levels: []result.Level{level()}, Verdict: result.Verdict{State: result.ClientLimited, Reasons: []result.Reason{{What: "all cores busy"}}}}
	if g := gate.Apply(res, []gate.Rule{r}); g.Outcome() != gate.Void || !strings.Contains(g.Invalid, "all cores busy") {
		t.Errorf("%+v", g)
	}
}

// A rule that could not be told does not pass, and is no failure either; a rule that is missed wins.
func TestWhatCannotBeToldIsVoid(t *testing.T) {
	unknown := result.Check{Rule: "no worse", Unknown: true, Text: "too few requests"}
	f := func(want gate.Outcome, failures, errors string, findings ...result.Check) {
		t.Helper()
		g := &gate.Gate{Findings: findings}
		if got := g.Outcome(); got != want {
			t.Errorf("%+v: %v, want %v", findings, got, want)
		}
		var junit strings.Builder
		if err := g.WriteJUnit(&junit, "m", 1); err != nil || !strings.Contains(junit.String(), `failures="`+failures+`" errors="`+errors+`"`) {
			t.Errorf("%v in\n%s", err, junit.String())
		}
	}
	f(gate.Void, "0", "1", result.Check{Rule: "p99<1s", OK: true}, unknown)
	f(gate.Missed, "1", "1", unknown, result.Check{Rule: "p99<1s"})
}

func TestFilesSurviveForeignText(t *testing.T) {
	r, _ := gate.Parse("p99<1ms")
	lv := level()
	res := &result.Result{Levels: []result.Level{lv}, Verdict: result.Verdict{State: result.Failed, Reasons: []result.Reason{{What: "<script>|x"}}}}
	g := gate.Apply(res, []gate.Rule{r})
	var junit, md strings.Builder
	if err := g.WriteJUnit(&junit, `model "<a>"`, 1.5); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Tests    int `xml:"tests,attr"`
	}
	if err := xml.Unmarshal([]byte(junit.String()), &back); err != nil || back.Failures != 1 || back.Errors != 1 || back.Tests != 2 {
		t.Errorf("%v %+v in\n%s", err, back, junit.String())
	}
	if err := gate.WriteMarkdown(&md, "m", res, g); err != nil {
		t.Fatal(err)
	}
	if s := md.String(); strings.Contains(s, "<script>") || !strings.Contains(s, "`p99<1ms`") || !strings.Contains(s, "| concurrency 8 |") {
		t.Errorf("Markdown:\n%s", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"p99<50ms", "a>=1e3/s@4", "x==", "@", "<>=!"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := gate.Parse(s)
		if err == nil && (r.Name == "" || r.Op == "") {
			t.Errorf("%q gave %+v", s, r)
		}
	})
}

// A rule of a traffic class is about that class alone, one of the whole about all classes together.
func TestRulesOfClasses(t *testing.T) {
	one, two, whole := level(), level(), level()
	one.Class, two.Class, whole.Class, whole.Mode = "one", "two", "all", ""
	whole.Client.Requests = 5000
	res := &result.Result{Levels: []result.Level{one, two}, Whole: &whole, Verdict: result.Verdict{State: result.Valid}}
	f := func(class, rule string, levels ...string) {
		t.Helper()
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		r.Class = class
		g := gate.Apply(res, []gate.Rule{r})
		var got []string
		for _, c := range g.Findings {
			if c.OK {
				got = append(got, c.Level)
			}
		}
		if strings.Join(got, "; ") != strings.Join(levels, "; ") {
			t.Errorf("%s of %q holds at %v, want %v", rule, class, got, levels)
		}
	}
	f("", "requests<1000", "one, concurrency 8", "two, concurrency 8")
	f("two", "requests<1000", "two, concurrency 8")
	f("all", "requests>1000", "all")
	f("three", "requests<1000")
}

// A part of a load that has nothing to send at a level does not miss the rules about it.
func TestIdleLevelsMissNoRule(t *testing.T) {
	r, err := gate.Parse("p99<1ms")
	if err != nil {
		t.Fatal(err)
	}
	res := &result.Result{Verdict: result.Verdict{State: result.Valid}, Levels: []result.Level{{Mode: plan.Concurrency, Concurrency: 8, Idle: true}}}
	if g := gate.Apply(res, []gate.Rule{r}); g.Outcome() != gate.Passed {
		t.Errorf("%+v", g.Findings)
	}
	res.Levels = append(res.Levels, level())
	if g := gate.Apply(res, []gate.Rule{r}); g.Outcome() != gate.Missed {
		t.Errorf("%+v", g.Findings)
	}
}
