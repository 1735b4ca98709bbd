package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

// Every span of the client has the name that the server got in the traceparent of the same request, over each protocol, and the
// events of a request in their order. Requests of the warm-up have neither.
func TestTracesJoin(t *testing.T) {
	s, log := serve(t)
	f := func(name string, events []string, args ...string) {
		t.Run(name, func(t *testing.T) {
			r, url := listen(t, nil)
			res, stderr := run(t, append(args, "--otlp", url, "--trace-requests", "30%")...)
			if strings.Contains(stderr, "OTLP") {
				t.Errorf("stderr: %s", stderr)
			}
			got := parents(t, log, res.StartUnixNs)
			if len(got) == 0 || len(got) != len(r.spans) || uint64(len(got)) >= res.Levels[0].Client.Requests {
				t.Fatalf("%d requests of %d had a traceparent, %d spans came", len(got), res.Levels[0].Client.Requests, len(r.spans))
			}
			for parent, have := range r.spans {
				if !got[parent] {
					t.Fatalf("the server did not get %s", parent)
				}
				if got := slices.Compact(have); !slices.Equal(got, events) {
					t.Fatalf("the events of a span are %q, want %q", got, events)
				}
			}
		})
	}
	single := []string{"due", "sent", "first byte", "end"}
	tokens := []string{"due", "sent", "first byte", "tokens", "end"}
	f("http", single, "profile", "-m", "simple", "-u", s.HTTP, "--concurrency-range", "4", "--request-count", "200", "--warmup-request-count", "100")
	f("grpc", single, "profile", "-m", "simple", "-u", s.GRPC, "-i", "grpc", "--request-rate-range", "200", "--request-count", "200", "--warmup-request-count", "50")
	f("llm", tokens, "llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--concurrency", "2", "--request-count", "40", "--output-tokens-mean", "6", "--warmup-request-count", "30")
	f("llm over HTTP/2", tokens, "llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--http-version", "2", "--concurrency", "2", "--request-count", "40", "--output-tokens-mean", "6")
}

// A search sends the numbers and spans of its probes, and its level has the server's metrics.
func TestFindHasTelemetry(t *testing.T) {
	s, log := serve(t)
	for _, args := range [][]string{
		{"profile", "-m", "simple", "-u", s.HTTP},
		{"llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--output-tokens-mean", "2"},
	} {
		t.Run(args[0], func(t *testing.T) {
			r, url := listen(t, nil)
			args = append(args, "--slo", "p50<30s", "--by", "concurrency", "--highest", "1", "--settle", "50ms", "--probe-min", "1s", "--probe-max", "1s", "--confirm", "1s",
				"--otlp", url, "--trace-requests", "20%", "--server-metrics", s.Metrics)
			res, stderr := run(t, append([]string{"find"}, args...)...)
			if len(res.Levels) != 1 || res.Levels[0].ServerMetrics == nil || res.Levels[0].ServerMetrics.Reads == 0 {
				t.Errorf("the level has no metrics of the server: %+v", res.Levels)
			}
			if got := parents(t, log, res.StartUnixNs); len(got) == 0 || len(got) > len(r.spans) || strings.Contains(stderr, "OTLP") {
				t.Errorf("%d requests had a traceparent, %d spans came; stderr: %s", len(got), len(r.spans), stderr)
			}
			if r.metrics["redline.level"] == nil || r.metrics["redline.class"] != nil {
				t.Errorf("points have %v", r.metrics)
			}
		})
	}
}

// A scenario sends the numbers and spans of each class with its name; the server's metrics are those of all classes together.
func TestScenarioHasTelemetry(t *testing.T) {
	s, log := serve(t)
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	text := fmt.Sprintf(`classes:
  images:
    profile: {model: simple, url: %q, concurrency-range: 2, request-count: 60}
  chat:
    llm: {model: mock-llm, url: %q, streaming: true, concurrency: 2, request-count: 30, output-tokens-mean: 4}
`, s.HTTP, s.Ports["openai"])
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, url := listen(t, nil)
	res, stderr := run(t, "run", file, "--otlp", url, "--trace-requests", "100%", "--server-metrics", s.Metrics)
	got := parents(t, log, res.StartUnixNs)
	for parent := range got {
		if r.spans[parent] == nil {
			t.Fatalf("no span of the client is %s", parent)
		}
	}
	if len(got) != 90 || len(r.spans) != 90 || strings.Contains(stderr, "OTLP") {
		t.Errorf("%d requests had a traceparent, %d spans came; stderr: %s", len(got), len(r.spans), stderr)
	}
	if c := r.metrics["redline.class"]; c["images"] != 60 || c["chat"] != 30 {
		t.Errorf("requests by class: %v", c)
	}
	if res.Whole == nil || res.Whole.ServerMetrics == nil || len(res.Whole.ServerMetrics.Series) == 0 || res.Levels[0].ServerMetrics != nil {
		t.Errorf("all classes together have %+v", res.Whole)
	}
}

// Each level of a scenario with one class has its own metrics of the server.
func TestScenarioOfOneClass(t *testing.T) {
	s, _ := serve(t)
	for _, class := range []string{
		fmt.Sprintf("profile: {model: simple, url: %q, concurrency-range: '1:2', duration: 500ms}", s.HTTP),
		fmt.Sprintf("llm: {model: mock-llm, url: %q, streaming: true, concurrency: '1,2', request-count: 10, output-tokens-mean: 2}", s.Ports["openai"]),
	} {
		file := filepath.Join(t.TempDir(), "scenario.yaml")
		if err := os.WriteFile(file, []byte("classes:\n  one:\n    "+class+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		res, _ := run(t, "run", file, "--server-metrics", s.Metrics)
		if len(res.Levels) != 2 || res.Whole == nil || res.Whole.ServerMetrics != nil {
			t.Fatalf("%s: %d levels; all together have %+v", class, len(res.Levels), res.Whole)
		}
		for i := range res.Levels {
			if m := res.Levels[i].ServerMetrics; m == nil || m.Reads == 0 {
				t.Errorf("%s: level %d has %+v", class, i, m)
			}
		}
	}
}

// A collector that refuses, does not answer, or is not there does not change the run, and the end says what was lost. The secret of a
// header is in no output.
func TestCollectorTrouble(t *testing.T) {
	s, _ := serve(t)
	f := func(name, endpoint string) {
		t.Run(name, func(t *testing.T) {
			res, stderr := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--request-count", "100", "--otlp", endpoint, "--otlp-header", "api-key: s3cret-of-mine", "--trace-requests", "100%")
			if res.Levels[0].Client.Requests != 100 || res.Levels[0].Client.Failed != 0 || len(res.Telemetry) != 2 {
				t.Errorf("the result is %+v", res)
			}
			if !strings.Contains(stderr, "are not complete") || !strings.Contains(stderr, "100 of 100 did not arrive") || strings.Contains(stderr, "s3cret") {
				t.Errorf("stderr: %s", stderr)
			}
		})
	}
	_, refusing := listen(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	_, silent := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices only then that the client leaves
		<-r.Context().Done()
	})
	f("refuses", refusing)
	f("does not answer", silent)
	f("is not there", "http://"+testkit.Port(t))
}
