package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// checkTraces holds that the slowest requests have spans of both sides, and that those of the server lie within the client's.
func checkTraces(t *testing.T, res *result.Result, matched int) {
	t.Helper()
	got := res.Levels[0].ServerTraces
	if got == nil || got.Matched < matched || len(got.Slowest) != 10 {
		t.Fatalf("the level has the traces %+v", got)
	}
	for _, r := range got.Slowest {
		names := map[string]bool{}
		for _, s := range r.Spans {
			names[s.Name] = true
			// The server notes its last times after the client has the response.
			if s.StartNs < -int64(time.Millisecond) || s.StartNs > r.LatencyNs {
				t.Errorf("%+v does not lie within %d ns", s, r.LatencyNs)
			}
		}
		for _, want := range []string{"request", "in the model", "queue", "compute"} {
			if !names[want] {
				t.Errorf("a request has no span %q: %+v", want, r.Spans)
			}
		}
	}
}

// The trace file of the reference server joins the client's requests over HTTP and gRPC, and the page has both.
func TestTraceFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	s := binary.Served(t, bin, "--trace-config", "triton,file="+file)
	page := filepath.Join(t.TempDir(), "page.html")
	for _, where := range [][]string{{"-u", s.HTTP}, {"-u", s.GRPC, "-i", "grpc"}} {
		res, stderr := run(t, append([]string{
			"profile", "-m", "simple", "--concurrency-range", "2", "--request-count", "60", "--trace-level", "TIMESTAMPS", "--trace-rate", "2", "--trace-file", file, "--report", page,
		}, where...)...)
		if stderr != "" {
			t.Errorf("stderr: %s", stderr)
		}
		checkTraces(t, res, 25)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), `"traces":{"matched":`) {
		t.Errorf("the page has no traces: %v", err)
	}
	_, stderr := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--request-count", "5", "--trace-file", file+".none")
	if !strings.Contains(stderr, "the server wrote no traces to") || !strings.Contains(stderr, "--trace-level TIMESTAMPS") {
		t.Errorf("stderr: %s", stderr)
	}
}

func startTriton(t *testing.T, args ...string) *peers.Triton {
	t.Helper()
	outcome.HeavyOnly(t, "a real Triton that traces")
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "a real Triton that traces", err, "Python with venv")
	}
	s, err := p.StartTritonWith(t.Context(), t.TempDir(), []string{filepath.Join(binary.Root(), "e2e", "models")}, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// So does the trace file of a real Triton, whose times are those of the monotonic clock.
func TestTritonTraceFile(t *testing.T) {
	s := startTriton(t)
	file := filepath.Join(s.Dir, "trace.json")
	for _, where := range [][]string{{"-u", s.HTTP}, {"-u", s.GRPC, "-i", "grpc"}} {
		res, stderr := run(t, append([]string{
			"profile", "-m", "simple", "--concurrency-range", "2", "--request-count", "60", "--trace-level", "TIMESTAMPS", "--trace-rate", "2", "--trace-file", file, "--server-metrics", s.Metrics,
		}, where...)...)
		if stderr != "" {
			t.Errorf("stderr: %s", stderr)
		}
		checkTraces(t, res, 25)
		if m := res.Levels[0].ServerMetrics; m == nil || len(m.Series) == 0 {
			t.Errorf("the server's metrics are %+v", m)
		}
	}
}

// The spans of a real Triton in its OpenTelemetry mode hang under those of the client: all over HTTP. Over gRPC this Triton sends no span for
// some requests, also if every request is to be traced, so only half of them are asked for.
func TestTritonSpansJoin(t *testing.T) {
	r, url := listen(t, nil)
	s := startTriton(t, "--trace-config", "mode=opentelemetry", "--trace-config", "opentelemetry,url="+url+"/v1/traces", "--trace-config", "rate=1", "--trace-config", "level=TIMESTAMPS")
	for name, where := range map[string][]string{"http": {"-u", s.HTTP}, "grpc": {"-u", s.GRPC, "-i", "grpc"}} {
		t.Run(name, func(t *testing.T) {
			before := r.below()
			res, stderr := run(t, append([]string{"profile", "-m", "simple", "--concurrency-range", "2", "--request-count", "60", "--otlp", url, "--trace-requests", "50%"}, where...)...)
			if strings.Contains(stderr, "OTLP") {
				t.Errorf("stderr: %s", stderr)
			}
			sent := 0
			for _, to := range res.Telemetry {
				sent += int(to.Spans)
			}
			least := sent
			if name == "grpc" {
				least = sent / 2
			}
			// Triton sends its spans in batches, some seconds later.
			for end := time.Now().Add(testkit.Limit); r.below()-before < least && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			}
			if n := r.below() - before; sent == 0 || n < least || n > sent {
				t.Errorf("%d spans of the server hang under %d of the client", n, sent)
			}
		})
	}
}
