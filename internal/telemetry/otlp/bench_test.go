package otlp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
	"github.com/redline-bench/redline/internal/vitals"
)

// BenchmarkSpans is what the span of a request costs, from Add until a collector in this process has read it.
func BenchmarkSpans(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	const spans = 4096 // as many as the queue holds
	b.ReportAllocs()
	before := vitals.Read()
	for b.Loop() {
		t, err := otlp.OpenTracer(b.Context(), otlp.Config{Endpoint: collector.URL})
		if err != nil {
			b.Fatal(err)
		}
		for i := range int64(spans) {
			t.Add(telemetry.Request{Level: "concurrency 4", Outcome: "ok", Due: 1000 + i, Sent: 2000 + i, First: 100_000 + i, End: 200_000 + i, Responses: 1})
		}
		if sent := t.Close(b.Context()); sent.Spans != spans {
			b.Fatalf("%+v", sent)
		}
	}
	cpu := vitals.Read().Since(before).CPU
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N)/spans, "cpu-ns/span")
}
