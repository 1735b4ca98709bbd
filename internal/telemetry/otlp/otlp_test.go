package otlp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
	"github.com/redline-bench/redline/internal/testkit"
)

// receiver is a collector that hands every message to a function, over gRPC and HTTP.
type receiver struct {
	collector.UnimplementedMetricsServiceServer
	take func(ctx context.Context, m *collector.ExportMetricsServiceRequest) error
}

func (r *receiver) Export(ctx context.Context, m *collector.ExportMetricsServiceRequest) (*collector.ExportMetricsServiceResponse, error) {
	return &collector.ExportMetricsServiceResponse{}, r.take(ctx, m)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	m := &collector.ExportMetricsServiceRequest{}
	if err = errors.Join(err, proto.Unmarshal(body, m)); err != nil || req.URL.Path != "/v1/metrics" || req.Header.Get("Api-Key") != "s3cret-value" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.take(req.Context(), m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// listen starts the receiver and returns its two addresses.
func (r *receiver) listen(t *testing.T) (overGRPC, overHTTP string) {
	t.Helper()
	l := testkit.Listen(t, "127.0.0.1:0")
	s := grpc.NewServer()
	collector.RegisterMetricsServiceServer(s, r)
	testkit.ServeGRPC(t, s, l)
	web := httptest.NewServer(r)
	t.Cleanup(web.Close)
	return "grpc://" + l.Addr().String(), web.URL
}

// send sends the numbers of ten requests, two of which failed.
func send(t *testing.T, endpoint string, interval time.Duration, during func()) result.Sent {
	t.Helper()
	tally := telemetry.NewTally()
	e, err := otlp.Open(t.Context(), otlp.Config{
		Endpoint: endpoint, Headers: map[string]string{"api-key": "s3cret-value"}, Interval: interval, Patience: 500 * time.Millisecond,
		Run: otlp.Run{Service: "redline", ID: "run-1", Command: "profile", Label: "night", Model: "m", Version: "v"},
	}, tally)
	if err != nil {
		t.Fatal(err)
	}
	lv := &result.Level{Mode: plan.Concurrency, Concurrency: 4}
	for i := range int64(10) {
		r := record.Record{Sent: 0, End: (i + 1) * 1e6}
		if i >= 8 {
			r.Class = record.Server
		}
		tally.Add(lv, false, &r)
	}
	during()
	return e.Close(t.Context())
}

// The collector gets all requests over both protocols: counts by outcome, an exponential histogram, and the run's names.
func TestTotalsArrive(t *testing.T) {
	got := make(chan *collector.ExportMetricsServiceRequest, 1)
	r := &receiver{take: func(_ context.Context, m *collector.ExportMetricsServiceRequest) error { got <- m; return nil }}
	overGRPC, overHTTP := r.listen(t)
	for _, endpoint := range []string{overGRPC, overHTTP} {
		sent := send(t, endpoint, time.Hour, func() {})
		if sent.Lost() != "" || sent.Sends != 1 {
			t.Fatalf("%s: %+v", endpoint, sent)
		}
		last := <-got
		names := map[string]string{}
		for _, a := range last.ResourceMetrics[0].Resource.Attributes {
			names[a.Key] = a.Value.GetStringValue()
		}
		if names["service.name"] != "redline" || names["redline.run.id"] != "run-1" || names["redline.label"] != "night" || names["redline.model"] != "m" {
			t.Errorf("%s: attributes %v", endpoint, names)
		}
		found := map[string]*metrics.Metric{}
		for _, m := range last.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			found[m.Name] = m
		}
		counts := map[string]int64{}
		for _, p := range found["redline.requests"].GetSum().DataPoints {
			for _, a := range p.Attributes {
				if a.Key == "redline.outcome" {
					counts[a.Value.GetStringValue()] = p.GetAsInt()
				}
			}
		}
		if counts["ok"] != 8 || counts["server"] != 2 {
			t.Errorf("%s: outcomes %v", endpoint, counts)
		}
		h := found["redline.request.duration"].GetExponentialHistogram().DataPoints[0]
		if h.Count != 8 || h.GetSum() != 0.036 || h.Scale != telemetry.Scale || h.GetMax() != 0.008 {
			t.Errorf("%s: histogram %v", endpoint, h)
		}
	}
}

// A collector that refuses, is not there, or does not answer is reported, without the header's secret, and Close ends soon.
func TestLossesAreReported(t *testing.T) {
	refusing := &receiver{take: func(context.Context, *collector.ExportMetricsServiceRequest) error { return errors.New("quota") }}
	overGRPC, overHTTP := refusing.listen(t)
	entered := make(chan struct{}, 100)
	slow := &receiver{take: func(ctx context.Context, _ *collector.ExportMetricsServiceRequest) error {
		entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	slowGRPC, slowHTTP := slow.listen(t)
	f := func(endpoint string, during func()) {
		t.Helper()
		sent := send(t, endpoint, 10*time.Millisecond, during)
		if sent.Complete || sent.Failed == 0 || sent.Failed != sent.Sends || !strings.Contains(sent.Lost(), "are not complete") || strings.Contains(sent.Lost(), "s3cret") {
			t.Errorf("%s: %+v", endpoint, sent)
		}
	}
	f(overGRPC, func() {})
	f(overHTTP, func() {})
	f("grpc://"+testkit.Port(t), func() {})
	f(slowGRPC, func() { <-entered })
	f(slowHTTP, func() { <-entered })
}

// What a lost message said is in the next one: after an outage the totals are complete, and the loss is reported.
func TestTotalsAreCompleteAfterAnOutage(t *testing.T) {
	refused, accepted := make(chan struct{}, 1000), make(chan struct{}, 1000)
	var up atomic.Bool
	r := &receiver{take: func(context.Context, *collector.ExportMetricsServiceRequest) error {
		if up.CompareAndSwap(false, true) {
			refused <- struct{}{}
			return errors.New("down")
		}
		accepted <- struct{}{}
		return nil
	}}
	_, overHTTP := r.listen(t)
	sent := send(t, overHTTP, 10*time.Millisecond, func() { <-refused; <-accepted })
	if !sent.Complete || sent.Failed != 1 || !strings.Contains(sent.Lost(), "1 of ") || !strings.Contains(sent.Lost(), "are complete") {
		t.Errorf("%+v: %s", sent, sent.Lost())
	}
}

// What the SDK says about OTEL_ variables comes to Report, once, and not to standard error: it may contain a secret.
func TestSDKReports(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "s3cret-without-a-name")
	var told []string
	otlp.Report(func(text string) { told = append(told, text) })
	cfg := otlp.Config{Endpoint: "http://" + testkit.Port(t), Interval: time.Hour, Patience: time.Millisecond}
	for range 2 {
		e, err := otlp.Open(t.Context(), cfg, telemetry.NewTally())
		if err != nil {
			t.Fatal(err)
		}
		e.Close(t.Context())
	}
	if len(told) != 1 || !strings.Contains(told[0], "parse headers") {
		t.Errorf("the SDK said %q", told)
	}
}

// An endpoint with TLS keeps TLS when the OTEL_ variables name another one without.
func TestVariablesDoNotSwitchOffTLS(t *testing.T) {
	got := make(chan struct{}, 10)
	r := &receiver{take: func(context.Context, *collector.ExportMetricsServiceRequest) error { got <- struct{}{}; return nil }}
	plain, _ := r.listen(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http"+strings.TrimPrefix(plain, "grpc"))
	if sent := send(t, "grpcs"+strings.TrimPrefix(plain, "grpc"), time.Hour, func() {}); sent.Complete || len(got) != 0 {
		t.Errorf("%+v: the numbers went without TLS", sent)
	}
}

func TestCheck(t *testing.T) {
	f := func(want string, cfg otlp.Config) {
		t.Helper()
		if err := otlp.Check(&cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
	f("needs TLS", otlp.Config{Endpoint: "grpc://c:4317", CA: "ca.pem"})
	f("cannot read the certificates", otlp.Config{Endpoint: "grpcs://c:4317", CA: "missing.pem"})
	f("no certificate", otlp.Config{Endpoint: "https://c", CA: "otlp_test.go"})
	if err := otlp.Check(&otlp.Config{Endpoint: "grpcs://c:4317"}); err != nil {
		t.Error(err)
	}
}

// A span that comes after Close, or that a collector does not take in time, is counted as lost; Close ends soon. The end of the
// context of the run does not end the sending.
func TestLateSpansAreLost(t *testing.T) {
	taken := make(chan struct{}, 10)
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken <- struct{}{} }))
	defer quick.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	tracer, err := otlp.OpenTracer(ctx, otlp.Config{Endpoint: quick.URL})
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	tracer.Add(telemetry.Request{Sent: 1, End: 2, Outcome: "ok"})
	if sent := tracer.Close(t.Context()); sent.Lost() != "" || sent.Spans != 1 || len(taken) != 1 {
		t.Errorf("after an interrupt: %+v", sent)
	}
	tracer.Add(telemetry.Request{Sent: 1, End: 2, Outcome: "ok"}) // it does not panic

	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	if tracer, err = otlp.OpenTracer(t.Context(), otlp.Config{Endpoint: silent.URL, Patience: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for range 1500 {
		tracer.Add(telemetry.Request{Sent: 1, End: 2, Outcome: "ok"})
	}
	if sent := tracer.Close(t.Context()); sent.Complete || sent.Dropped != 1500 || !strings.Contains(sent.Lost(), "no answer within 50ms") {
		t.Errorf("%+v: %s", sent, sent.Lost())
	}
}
