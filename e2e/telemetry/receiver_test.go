package telemetry

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// receiver is a small collector over HTTP.
type receiver struct {
	mu    sync.Mutex
	spans map[string][]string // the names of the events of each span of a client, by its traceparent
	all   []*tracepb.Span
	// children are the spans that hang under another one, by the traceparent of the upper one.
	children map[string]int
	// metrics are the last counts of requests by attribute and its value.
	metrics map[string]map[string]int64
	// answer decides about a message: nil takes all.
	answer func(w http.ResponseWriter, r *http.Request)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.answer != nil {
		r.answer(w, req)
		return
	}
	body, _ := io.ReadAll(req.Body)
	switch req.URL.Path {
	case "/v1/metrics":
		m := &metricservice.ExportMetricsServiceRequest{}
		if proto.Unmarshal(body, m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.count(m)
	case "/v1/traces":
		m := &traceservice.ExportTraceServiceRequest{}
		read := func() error { return proto.Unmarshal(body, m) }
		if req.Header.Get("Content-Type") == "application/json" {
			read = func() error { return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(hexIDs(body), m) }
		}
		if read() != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.take(m)
	}
}

func (r *receiver) count(m *metricservice.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if one.Name != "redline.requests" {
			continue
		}
		for _, p := range one.GetSum().DataPoints {
			for _, a := range p.Attributes {
				if r.metrics[a.Key] == nil {
					r.metrics[a.Key] = map[string]int64{}
				}
				r.metrics[a.Key][a.Value.GetStringValue()] = p.GetAsInt()
			}
		}
	}
}

func (r *receiver) take(m *traceservice.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				r.all = append(r.all, s)
				if len(s.ParentSpanId) > 0 {
					r.children["00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.ParentSpanId)+"-01"]++
				}
				if s.Kind != tracepb.Span_SPAN_KIND_CLIENT {
					continue
				}
				var events []string
				for _, e := range s.Events {
					events = append(events, e.Name)
				}
				r.spans["00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.SpanId)+"-01"] = events
			}
		}
	}
}

// below is how many spans of the client have a span of the server under them.
func (r *receiver) below() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for parent := range r.spans {
		if r.children[parent] > 0 {
			n++
		}
	}
	return n
}

// listen starts a receiver.
func listen(t *testing.T, answer func(http.ResponseWriter, *http.Request)) (*receiver, string) {
	t.Helper()
	r := &receiver{spans: map[string][]string{}, children: map[string]int{}, metrics: map[string]map[string]int64{}, answer: answer}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.URL
}
