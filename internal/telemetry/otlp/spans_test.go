package otlp_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
	"github.com/redline-bench/redline/internal/traceid"
)

// sendSpans returns the message in which a collector gets the spans that add adds.
func sendSpans(t *testing.T, run otlp.Run, add func(*otlp.Tracer)) *tracepb.ResourceSpans {
	t.Helper()
	got := make(chan *collector.ExportTraceServiceRequest, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short body is not valid
		m := &collector.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, m); err != nil {
			t.Error(err)
		}
		got <- m
	}))
	defer s.Close()
	tracer, err := otlp.OpenTracer(t.Context(), otlp.Config{Endpoint: s.URL, Run: run})
	if err != nil {
		t.Fatal(err)
	}
	add(tracer)
	if sent := tracer.Close(t.Context()); sent.Lost() != "" {
		t.Fatal(sent.Lost())
	}
	return (<-got).ResourceSpans[0]
}

func text(name, v string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}}
}

func number(name string, v int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}}
}

func at(name string, unixNano int64) *tracepb.Span_Event {
	return &tracepb.Span_Event{Name: name, TimeUnixNano: uint64(unixNano)}
}

// Collectors read the spans of client and server with all their fields.
func TestSpansArrive(t *testing.T) {
	id, _ := traceid.New(1, 7).Pick(3, 5)
	trace, span := id.Trace(), id.Span()
	got := sendSpans(t, otlp.Run{Service: "redline", ID: "run-1"}, func(tr *otlp.Tracer) {
		tr.Add(telemetry.Request{
			ID: id, Class: "chat", Level: "concurrency 4", Outcome: "server", Due: 10, Sent: 20, First: 30, End: 3000, Responses: 300,
			Chunks: make([]int64, 1002), Input: 7, Output: 1 << 40,
		})
		tr.Add(telemetry.Request{ID: id, Level: "4", Outcome: "ok", Sent: 20, End: 30})
		tr.AddServed(telemetry.Served{Trace: trace, Parent: span, Name: "POST /x", Version: "1.1", Status: 200, Received: 100, First: 110, End: 120})
		tr.AddServed(telemetry.Served{Trace: trace, Parent: span, Name: "s/m", Version: "2", RPC: true, Status: 5, Failed: true, Received: 100, End: 130})
	})
	if got.ScopeSpans[0].Scope.Name != "github.com/redline-bench/redline" {
		t.Errorf("the scope is %v", got.ScopeSpans[0].Scope)
	}
	wall := func(ns int64) uint64 { return uint64(clock.Wall(ns)) }
	want := []*tracepb.Span{{
		TraceId: trace[:], SpanId: span[:], Flags: 0x101, Name: "request", Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: wall(10), EndTimeUnixNano: wall(3000),
		Events: []*tracepb.Span_Event{at("due", clock.Wall(10)), at("sent", clock.Wall(20)), at("first byte", clock.Wall(30)), at("end", clock.Wall(3000))}, DroppedEventsCount: 2,
		Attributes: []*commonpb.KeyValue{
			text("redline.level", "concurrency 4"), text("redline.outcome", "server"), number("redline.responses", 300), number("gen_ai.usage.input_tokens", 7),
			number("gen_ai.usage.output_tokens", 1<<40), text("redline.class", "chat"),
		},
		Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "server"},
	}, {
		TraceId: trace[:], SpanId: span[:], Flags: 0x101, Name: "request", Kind: tracepb.Span_SPAN_KIND_CLIENT, StartTimeUnixNano: wall(0), EndTimeUnixNano: wall(30),
		Events:     []*tracepb.Span_Event{at("sent", clock.Wall(20)), at("end", clock.Wall(30))},
		Attributes: []*commonpb.KeyValue{text("redline.level", "4"), text("redline.outcome", "ok"), number("redline.responses", 0)},
	}, {
		TraceId: trace[:], ParentSpanId: span[:], Flags: 0x301, Name: "POST /x", Kind: tracepb.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 100, EndTimeUnixNano: 120,
		Events:     []*tracepb.Span_Event{at("received", 100), at("first response", 110), at("last response", 120)},
		Attributes: []*commonpb.KeyValue{text("network.protocol.version", "1.1"), number("http.response.status_code", 200)},
	}, {
		TraceId: trace[:], ParentSpanId: span[:], Flags: 0x301, Name: "s/m", Kind: tracepb.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 100, EndTimeUnixNano: 130,
		Events:     []*tracepb.Span_Event{at("received", 100)},
		Attributes: []*commonpb.KeyValue{text("network.protocol.version", "2"), text("rpc.system", "grpc"), number("rpc.grpc.status_code", 5)},
		Status:     &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR},
	}}
	for i, s := range got.ScopeSpans[0].Spans {
		if i >= 2 { // the server's own ids are chosen at random
			if len(s.SpanId) != 8 || hex.EncodeToString(s.SpanId) == "0000000000000000" {
				t.Errorf("a span of the server has the id %x", s.SpanId)
			}
			s.SpanId = nil
		}
	}
	if diff := cmp.Diff(want, got.ScopeSpans[0].Spans, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}
