package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

func latency(avg, p50, p99, most float64) result.Metric {
	return result.Metric{
		Unit: result.Nanoseconds, Avg: avg * 1000, Max: most * 1000,
		Quantiles: []result.Quantile{{P: 50, V: p50 * 1000}, {P: 99, V: p99 * 1000}},
	}
}

func closedLevel() *result.Level {
	return &result.Level{
		Mode: plan.Concurrency, Concurrency: 8, Accepted: true, Stable: true,
		Client: result.Client{Requests: 1000, Latency: latency(500, 480, 900, 1200)},
		Health: result.Health{
			AskedInFlight: 8, AchievedInFlight: 7.9812, CPUCores: 0.4249, MachineShare: 0.214, CPUPerRequestNs: 6123,
			GCPauseMaxNs: 120_900, SchedDelayMaxNs: 301_000, AchievedRate: 2000,
		},
	}
}

func openLevel() *result.Level {
	l := closedLevel()
	l.Mode, l.Concurrency, l.Rate = plan.RequestRate, 0, 400
	l.Client.Due, l.Client.Sent = latency(9000, 8000, 120000, 130001), latency(500, 480, 900, 1200)
	l.Health.AskedInFlight, l.Health.AskedRate, l.Health.AchievedRate = 0, 400, 399.5
	l.Health.LagP50Ns, l.Health.LagP99Ns, l.Health.LagMaxNs = 3000, 41000, 812000
	return l
}

func health(l *result.Level, s report.Style) string {
	var b bytes.Buffer
	report.Health(&b, l, s)
	return b.String()
}

func TestHealth(t *testing.T) {
	f := func(name string, l *result.Level, want string) {
		t.Helper()
		if d := cmp.Diff(health(l, report.Style{}), want); d != "" {
			t.Errorf("%s (-got +want):\n%s", name, d)
		}
	}
	const end = `    CPU: 0.42 cores, 6.12 µs per request; the machine was 21 % busy
    Longest pause: 121 µs garbage collection, 301 µs scheduler
`
	const closed = "  Client health:\n    In flight: 7.98 of 8 requested (99.8 %)\n" + end
	f("closed loop", closedLevel(), closed)
	f("open loop", openLevel(), `  Latency:             avg      p50     p99      max
    from schedule  9.00 ms  8.00 ms  120 ms   130 ms
    from send       500 µs   480 µs  900 µs  1.20 ms
  Client health:
    Send lag: p50 3.00 µs, p99 41.0 µs, max 812 µs
    Request rate: sent 399.5 of 400 per sec that were due (99.88 %)
    In flight: 7.98 on average
    Dropped: none
`+end)

	l := closedLevel()
	first := latency(100, 90, 200, 300)
	l.Client.First = &first
	f("streamed", l, `  Latency:             avg      p50     p99      max
    last response   500 µs   480 µs  900 µs  1.20 ms
    first response  100 µs  90.0 µs  200 µs   300 µs
`+closed)

	l = closedLevel()
	l.Health.ReadLag = &result.ReadLag{P50Ns: 15_000, P99Ns: 900_000, MaxNs: 12_000_000}
	f("answers that the kernel timed", l, closed+"    Read lag: p50 15.0 µs, p99 900 µs, max 12.0 ms; not part of any latency, because responses have their arrival time\n")

	l = closedLevel()
	l.Health.Connections, l.Health.ConnectionBusy, l.Health.MoreConnections = 2, 0.971, 8
	f("a connection at its limit", l, strings.Replace(closed, "    Longest", "    Connections: 2, the busiest worked for 97 % of the time and limits the throughput; --connections 8 can do about 3.7 times as much\n    Longest", 1))

	l = closedLevel()
	l.Health.Times = "read"
	const unread = "    Response times: when the client read them; arrival times are unknown\n"
	f("tokens without a time of arrival", l, closed+unread+"    Measurement error: not calibrated; add --calibrate\n")
	l.Health.ErrorLater = true
	f("tokens of a run that is calibrated at its end", l, closed+unread)

	l = closedLevel()
	l.Health.ErrorUnknown = "there is no log to compare with"
	f("a run whose error cannot be measured", l, closed+"    Measurement error: not measured: there is no log to compare with\n")

	l = closedLevel()
	l.Health.Error = &result.MeasurementError{P50Ns: 134_000, P99Ns: 3_980_000, Exact: true, PerSecond: 398.4, Requests: 318}
	const late = "    Measurement error: +134 µs at p50, +3.98 ms at p99, "
	f("a calibrated run", l, closed+late+"calibrated with this traffic at 398 requests/s\n")
	l.Health.Error.Exact, l.Health.Error.Of = false, "http unary, 8 in flight, 44 requests/s, 64 + 64 bytes"
	f("one like it", l, closed+late+"the nearest calibrated traffic: http unary, 8 in flight, 44 requests/s, 64 + 64 bytes\n")
	l.Health.Error = &result.MeasurementError{P50Ns: -1_240, P99Ns: 610_000, AtLeast: true, Exact: true, PerSecond: 49.2, Notes: []string{"one doubt", "another"}}
	f("a short and doubtful calibration", l, closed+
		"    Measurement error: -1.24 µs at p50, at least +610 µs at p99, calibrated with this traffic at 49.2 requests/s\n      one doubt\n      another\n")

	l = closedLevel()
	l.Health.Times = "arrival"
	l.Health.Error = &result.MeasurementError{P50Ns: 4200, P99Ns: 31_000, Exact: true, PerSecond: 800, Tokens: &result.TokenError{TTFTNs: 12_340, ITLNs: -40}}
	f("tokens of a calibrated run", l, closed+
		"    Measurement error: a token's time +4.20 µs at p50, +31.0 µs at p99; mean time to first token +12.3 µs, between tokens 0, calibrated with this traffic at 800 tokens/s\n")

	l = closedLevel()
	l.Client.Failed = 25
	l.Failures = []result.Failure{{Class: "server", Count: 20, Text: "out of\nmemory"}, {Class: "timeout", Count: 5, Text: "no answer in 30s"}}
	f("failures", l, `  Failures: 25 of 1025 requests (2.44 %)
    server   20  out of memory
    timeout   5  no answer in 30s
`+closed)

	l = closedLevel()
	l.Stable, l.Reason, l.OverLimit, l.LatencyUnstable = false, "throughput spreads 34 %, 10 % is allowed", true, true
	f("marks", l, `  Unstable: throughput spreads 34 %, 10 % is allowed
  Latency unstable: only the throughput is stable; a lower load may make the latency stable too
  Over the limit: the latency reached the limit of -l
`+closed)

	l = closedLevel()
	l.Stable, l.Unfinished = false, true
	f("unfinished", l, "  Unfinished: the run ended during this level\n"+closed)

	l = openLevel()
	l.Health.Dropped, l.Client.Latency.Approximate = 7, true
	got := health(l, report.Style{})
	for _, want := range []string{"    Dropped: 7 requests were due and never sent\n", "    Percentiles are within 0.1 %: there are too many requests to sort them\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The percentiles of an open loop fit 80 columns, also in a file; a wide terminal has all of them.
func TestPercentilesFitTheWidth(t *testing.T) {
	l := openLevel()
	l.Client.Requests = 100_000
	for _, lat := range []*result.Metric{&l.Client.Due, &l.Client.Sent} {
		lat.Quantiles = nil
		for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99} {
			lat.Quantiles = append(lat.Quantiles, result.Quantile{P: p, V: 1_234_567_000})
		}
	}
	f := func(width, most int, want string) {
		t.Helper()
		lines := strings.Split(health(l, report.Style{Width: width}), "\n")
		for _, line := range lines[:3] {
			if n := utf8.RuneCountInString(line); n > most {
				t.Errorf("%d columns instead of %d: %s", n, most, line)
			}
		}
		if got := strings.Join(strings.Fields(lines[0])[1:], " "); got != want {
			t.Errorf("in %d columns the percentiles are %s, want %s", width, got, want)
		}
	}
	const narrow = "avg p50 p90 p95 p99 p99.9 max"
	f(0, 80, narrow)
	f(80, 80, narrow)
	f(60, 60, "avg p50 p90 p99 max")
	f(150, 150, "avg p1 p5 p10 p25 p50 p75 p90 p95 p99 p99.9 p99.99 max")
}

func TestColorOnlyWhenAsked(t *testing.T) {
	l := closedLevel()
	l.Stable = false
	if got := health(l, report.Style{Color: true}); !strings.Contains(got, "\x1b[33mUnstable:\x1b[0m") {
		t.Errorf("no color: %q", got)
	}
	if got := health(l, report.Style{}); strings.Contains(got, "\x1b") {
		t.Errorf("color: %q", got)
	}
}

func TestVerdict(t *testing.T) {
	f := func(v result.Verdict, want string) {
		t.Helper()
		var b bytes.Buffer
		report.Verdict(&b, &result.Result{Verdict: v}, report.Style{})
		if d := cmp.Diff(b.String(), want); d != "" {
			t.Errorf("%s (-got +want):\n%s", v.State, d)
		}
	}
	f(result.Verdict{State: result.Valid}, "Verdict: valid, the client kept up\n")
	f(result.Verdict{State: result.ClientLimited, Reasons: []result.Reason{{What: "concurrency 64: kept 50 requests in flight where 64 were asked for", Try: "give the client more CPU"}}},
		`Verdict: client-limited, the client, not the server, limited some of these numbers
  concurrency 64: kept 50 requests in flight where 64 were asked for
    try: give the client more CPU
`)
	f(result.Verdict{State: result.Failed, Reasons: []result.Reason{{What: "mismatch: 3, not 4"}}}, "Verdict: failed, responses were wrong\n  mismatch: 3, not 4\n")
	var b bytes.Buffer
	report.Verdict(&b, &result.Result{Verdict: result.Verdict{State: result.Interrupted}, Interrupted: true}, report.Style{})
	if want := "Verdict: interrupted, the results are those up to the interrupt\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
	f(result.Verdict{State: result.ServerFailed, Reasons: []result.Reason{{What: "concurrency 1: \x1b[2J\nVerdict: valid"}}},
		"Verdict: server-failed, too many requests failed\n  concurrency 1: [2J Verdict: valid\n")
	b.Reset()
	report.Verdict(&b, &result.Result{Verdict: result.Verdict{State: result.Valid}, Levels: []result.Level{{Stable: true, Untested: true}}}, report.Style{})
	if want := "Verdict: valid, the client kept up; stability was not tested\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
	f(result.Verdict{State: result.Unstable}, "Verdict: unstable, some levels did not become stable\n")
}

func TestWriteJSON(t *testing.T) {
	r := &result.Result{
		Schema: result.Schema, Tool: "redline",
		Plan:  &plan.Plan{Target: plan.Target{Timeout: time.Second, Headers: []plan.Header{{Name: "a", Value: "<b>"}}}},
		Model: &service.Model{Name: "simple"}, Levels: []result.Level{*closedLevel()},
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r, report.Indented); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"value": "<b>"`) || !strings.HasSuffix(b.String(), "}\n") {
		t.Errorf("not the plain form:\n%s", b.String())
	}
	var back result.Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&back, r); d != "" {
		t.Errorf("read back (-got +want):\n%s", d)
	}
}

func TestWriteJSONOfWhatIsNoNumber(t *testing.T) {
	l := closedLevel()
	l.Client.SendRate, l.Health.AchievedRate = math.Inf(1), math.NaN()
	l.GPU = &result.GPU{Utilization: map[string]float64{"a": math.NaN(), "b": 0.5}}
	r := &result.Result{Levels: []result.Level{*l}}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r, report.Indented); err != nil {
		t.Fatal(err)
	}
	var back result.Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	got := back.Levels[0]
	if got.Client.SendRate != 0 || got.GPU.Utilization["b"] != 0.5 || got.Client.Requests != 1000 {
		t.Errorf("got %+v", got)
	}
	if !math.IsInf(r.Levels[0].Client.SendRate, 1) {
		t.Error("the result itself was changed")
	}
}
