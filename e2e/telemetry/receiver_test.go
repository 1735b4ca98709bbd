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
	"google.golang.org/protobuf/proto"
)

// receiver is a small collector over HTTP.
type receiver struct {
	mu    sync.Mutex
	spans map[string][]string // the names of each span's events, by its traceparent
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
		if proto.Unmarshal(body, &metricservice.ExportMetricsServiceRequest{}) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	case "/v1/traces":
		m := &traceservice.ExportTraceServiceRequest{}
		if proto.Unmarshal(body, m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.take(m)
	}
}

func (r *receiver) take(m *traceservice.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				var events []string
				for _, e := range s.Events {
					events = append(events, e.Name)
				}
				r.spans["00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.SpanId)+"-01"] = events
			}
		}
	}
}

// listen starts a receiver.
func listen(t *testing.T, answer func(http.ResponseWriter, *http.Request)) (*receiver, string) {
	t.Helper()
	r := &receiver{spans: map[string][]string{}, answer: answer}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return r, s.URL
}
