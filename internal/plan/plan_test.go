package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// Every carrier hides a secret of any length: a short one is not searched for in what is written.
func TestPublicHidesShortSecrets(t *testing.T) {
	const short = "Zq7"
	p := plan.Default()
	p.Target.URL, p.Target.Endpoint, p.Target.Metrics.URL = "http://me:"+short+"@host:8000/?k="+short, "v1?k="+short, "host:8002/metrics?k="+short
	p.Target.Headers = []plan.Header{{Name: "X-Team", Value: short}}
	p.Target.Parameters = []plan.Parameter{{Name: "api_key", Value: short, Type: "string"}, {Name: "max_tokens", Value: "16", Type: "int"}, {Name: "pin_key", Value: "747", Type: "int"}}
	p.Target.EmbeddedArgs = []string{"--password=" + short}
	p.Fleet.NATS.URL = "nats://u:" + short + "@a:4222"
	o := &p.Outcome
	o.ServerMetrics, o.OTLP, o.RemoteWrite = []string{"http://" + short + "@host/metrics"}, "http://u:"+short+"@collector", "http://u:"+short+"@prometheus/api/v1/write"
	o.OTLPHeaders = []plan.Header{{Name: "api-key", Value: short}}
	public, secrets, _ := p.Withhold()
	for name, c := range map[string]*plan.Plan{"result": p.Public(), "worker": public} {
		text, err := json.Marshal(c)
		if err != nil || strings.Contains(string(text), short) || strings.Contains(string(text), "747") {
			t.Errorf("%s: %v: a secret is left in %s", name, err, text)
		}
		if !strings.Contains(string(text), `"16"`) {
			t.Errorf("%s: a number of tokens is no secret: %s", name, text)
		}
	}
	back, err := public.Restore(secrets, func(string) string { return "" })
	if err != nil || back.Target.Parameters[0].Value != short || back.Target.EmbeddedArgs[0] != p.Target.EmbeddedArgs[0] {
		t.Errorf("restored %+v, %v", back, err)
	}
}

func TestPublicHidesSecretsAndKeepsTheRest(t *testing.T) {
	p := &plan.Plan{Target: plan.Target{
		URL: "https://me:s3cret@host:8000/v1?key=s3cret", Endpoint: "v1/chat?api-key=s3cret", Model: "simple",
		Headers: []plan.Header{{Name: "Authorization", Value: "Bearer s3cret"}, {Name: "X-Api-Key", Value: "s3cret"}, {Name: "Accept", Value: "text/html"}},
	}}
	text, err := json.Marshal(p.Public())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "s3cret") {
		t.Errorf("a secret is left in %s", text)
	}
	for _, want := range []string{"host:8000/v1", "Authorization", "text/html", "simple", "v1/chat"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing from %s", want, text)
		}
	}
	if p.Target.Headers[0].Value != "Bearer s3cret" {
		t.Error("the plan itself was changed")
	}
}

// complete is a plan in which every part has a value.
func complete() plan.Plan {
	return plan.Plan{
		Target: plan.Target{
			Kind: plan.Triton, Protocol: plan.GRPC, URL: "me:s3cret@host:8001", Model: "simple", Call: plan.Async, Streaming: true,
			Headers: []plan.Header{{Name: "Authorization", Value: " Bearer s3cret"}, {Name: "Accept", Value: " x"}},
			Metrics: plan.Metrics{Collect: true, URL: "host:8002/metrics?key=s3cret", Interval: 1500 * time.Millisecond}, Timeout: 10 * time.Minute,
			LazyDial: true,
		},
		Load: plan.Load{
			Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 1, End: 4, Step: 1}, Rate: plan.FloatRange{Start: 1, End: 1, Step: 1},
			Search: plan.Linear, Distribution: plan.Constant, MaxThreads: 16, Seed: 1<<64 - 1,
			ThinkTime: pace.ThinkTime{Mean: time.Second, Spread: time.Millisecond},
		},
		Input: plan.Input{
			Batch: 1, Source: plan.Random, StringLength: 128, SharedMemory: plan.NoSharedMemory, SequenceLength: 20, Sequences: 4,
			Shapes: map[string][]int64{"a": {1, 2}}, FirstStream: true,
		},
		Measure: plan.Measure{Window: plan.TimeWindows, Interval: 5 * time.Second, MinRequests: 50, MaxTrials: 10, Stability: 0.1},
		Outcome: plan.DefaultOutcome(), Policies: plan.Policies{NearestRank: true},
	}
}

// A plan that was written down is whole again once its secrets are given, and the error names those that are not.
func TestAWrittenPlanIsCompleted(t *testing.T) {
	want, err := plan.New(complete())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"timeout":"10m0s"`, `"interval":"1.5s"`, `"interval":"5s"`, `"think_time":"1s±1ms"`, `"secrets":["-u","--metrics-url","-H Authorization"]`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is missing from %s", part, text)
		}
	}
	var written plan.Plan
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Public(), written.Public()); d != "" {
		t.Errorf("a written plan changes when it is written again: %s", d)
	}
	given := plan.Given{URL: "me:s3cret@host:8001", MetricsURL: "host:8002/metrics?key=s3cret"}
	if _, err := written.Complete(given); err == nil || err.Error() != "the result keeps no secrets: give -H Authorization again" {
		t.Errorf("without a header: %v", err)
	}
	given.Headers = []plan.Header{{Name: "authorization", Value: " Bearer s3cret"}}
	got, err := written.Complete(given)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	given.Headers = append(given.Headers, plan.Header{Name: "X-More"})
	if _, err := written.Complete(given); err == nil {
		t.Error("a header is taken that the run did not have")
	}
	written.Target.Model = "a ***"
	if _, err := written.Complete(plan.Given{Headers: given.Headers[:1], URL: "u", MetricsURL: "m"}); err == nil {
		t.Error("a removed secret would be sent as ***")
	}
}

func TestNewReportsAllFaults(t *testing.T) {
	draft := complete()
	draft.Target.Kind = plan.TorchServe
	draft.Target.Protocol, draft.Load.Concurrency, draft.Measure.MaxTrials = plan.HTTP, plan.IntRange{Start: 1}, 0
	_, err := plan.New(draft)
	want := "target.streaming needs gRPC\n" +
		"the search has no end: give the range an end, or a latency limit\n" +
		"measure.max_trials is 0, and must be at least 1"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	f := func(want string, edit func(*plan.Plan)) {
		t.Helper()
		draft := complete()
		edit(&draft)
		if _, err := plan.New(draft); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f(`load.mode is "x", and must be one of ["concurrency" "request_rate" "custom_intervals" "periodic_concurrency" "session_concurrency" "fixed_schedule"]`+
		"\nload.think_time needs a closed loop", func(p *plan.Plan) { p.Load.Mode = "x" })
	f("load.search is binary, which needs a latency limit and ranges with an end", func(p *plan.Plan) { p.Load.Search = plan.Binary })
	f("target.embedded_args needs target.embedded", func(p *plan.Plan) { p.Target.EmbeddedArgs = []string{"x"} })
	f("the shape of input a is [0]: dimensions must be at least 1; the first can be -1, the batch dimension", func(p *plan.Plan) { p.Input.Shapes = map[string][]int64{"a": {0}} })
	f("measure.interval must be more than 0s", func(p *plan.Plan) { p.Measure.Interval = 0 })
}

func TestWithLeavesThePlanAlone(t *testing.T) {
	p := complete()
	if q := p.With(func(p *plan.Plan) { p.Target.URL = "other" }); q.Target.URL != "other" || p.Target.URL == "other" {
		t.Errorf("%s became %s", p.Target.URL, q.Target.URL)
	}
}

func TestResultsOfEarlierBuildsHaveTimesInNanoseconds(t *testing.T) {
	var p plan.Plan
	if err := json.Unmarshal([]byte(`{"target":{"timeout":600000000000},"measure":{"interval":"5s","latency_limit":2000000}}`), &p); err != nil {
		t.Fatal(err)
	}
	if p.Target.Timeout != 10*time.Minute || p.Measure.Interval != 5*time.Second || p.Measure.LatencyLimit != 2*time.Millisecond {
		t.Errorf("%v, %v, %v", p.Target.Timeout, p.Measure.Interval, p.Measure.LatencyLimit)
	}
}
