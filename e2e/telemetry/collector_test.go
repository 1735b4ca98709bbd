package telemetry

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// collector is a running OpenTelemetry Collector that writes what it got to a file.
type collector struct {
	grpc, http string
	file       string
	process    *os.Process
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	outcome.HeavyOnly(t, "a real OpenTelemetry Collector")
	program, err := peers.InstallCollector(t.Context())
	if err != nil {
		outcome.NotTested(t, "a real OpenTelemetry Collector", err, "Go and access to a module proxy")
	}
	free, err := peers.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{grpc: fmt.Sprint("127.0.0.1:", free[0]), http: fmt.Sprint("127.0.0.1:", free[1]), file: filepath.Join(t.TempDir(), "lines.json")}
	cmd := exec.CommandContext(t.Context(), program, fmt.Sprintf(`yaml:{receivers: {otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}}, exporters: {lines: {path: %q}},
service: {telemetry: {metrics: {level: none}}, pipelines: {metrics: {receivers: [otlp], exporters: [lines]}, traces: {receivers: [otlp], exporters: [lines]}}}}`, c.grpc, c.http, c.file))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 600 {
		if conn, err := net.DialTimeout("tcp", c.grpc, time.Second); err == nil {
			_ = conn.Close()
			return c
		}
		time.Sleep(50 * time.Millisecond) // the collector says nothing that a program could wait for
	}
	t.Fatal("the collector does not listen")
	return nil
}

// got reads what arrived of a run: its last metrics by name, and its spans by their traceparent.
func (c *collector) got(t *testing.T, run string) (last map[string]*metrics.Metric, spans map[string]bool) {
	t.Helper()
	f, err := os.Open(c.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last, spans = map[string]*metrics.Metric{}, map[string]bool{}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return last, spans
		}
		if !strings.Contains(string(line), run) {
			continue
		}
		var head map[string]json.RawMessage
		if err := json.Unmarshal(line, &head); err != nil {
			t.Fatal(err)
		}
		if head["resourceMetrics"] != nil {
			m := &metricservice.ExportMetricsServiceRequest{}
			if err := protojson.Unmarshal(line, m); err != nil {
				t.Fatal(err)
			}
			for _, one := range m.ResourceMetrics[0].ScopeMetrics[0].Metrics {
				last[one.Name] = one
			}
			continue
		}
		m := &traceservice.ExportTraceServiceRequest{}
		if err := protojson.Unmarshal(hexIDs(line), m); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.ResourceSpans[0].ScopeSpans[0].Spans {
			spans["00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.SpanId)+"-01"] = true
		}
	}
}

// allSpans reads the spans of clients and servers.
func (c *collector) allSpans(t *testing.T) []*tracepb.Span {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // it appears with the first message
		t.Fatal(err)
	}
	var all []*tracepb.Span
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte(`"resourceSpans"`)) {
			continue
		}
		m := &traceservice.ExportTraceServiceRequest{}
		if err := protojson.Unmarshal(hexIDs(line), m); err != nil {
			t.Fatal(err)
		}
		for _, rs := range m.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				all = append(all, ss.Spans...)
			}
		}
	}
	return all
}

// hexIDs turns the ids of OTLP's JSON, which are hexadecimal, into those of protobuf's JSON, which are base64.
func hexIDs(line []byte) []byte {
	var doc any
	_ = json.Unmarshal(line, &doc) // it was read before
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for key, x := range v {
				if text, ok := x.(string); ok && (key == "traceId" || key == "spanId" || key == "parentSpanId") {
					b, _ := hex.DecodeString(text)
					v[key] = b // encoding/json writes base64
					continue
				}
				walk(x)
			}
		}
	}
	walk(doc)
	out, _ := json.Marshal(doc)
	return out
}

// quantile is the upper edge of the bucket that holds a quantile of an exponential histogram.
func quantile(h *metrics.ExponentialHistogramDataPoint, q float64) float64 {
	rank, seen := uint64(math.Ceil(q*float64(h.Count))), h.ZeroCount
	for i, n := range h.Positive.BucketCounts {
		if seen += n; seen >= rank {
			return math.Exp2(float64(int(h.Positive.Offset)+i+1) / math.Exp2(float64(h.Scale)))
		}
	}
	return 0
}

// What a real collector holds agrees with the result: counts exactly, quantiles within the width of a bucket, and the spans are those
// that the server saw.
func TestRealCollectorAgrees(t *testing.T) {
	c := startCollector(t)
	s, log := serve(t)
	for name, endpoint := range map[string]string{"grpc": "grpc://" + c.grpc, "http": "http://" + c.http} {
		t.Run(name, func(t *testing.T) {
			res, stderr := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--concurrency-range", "4", "--request-count", "2000", "--otlp", endpoint, "--trace-requests", "5%")
			if strings.Contains(stderr, "OTLP") {
				t.Errorf("stderr: %s", stderr)
			}
			last, spans := c.got(t, res.RunID)
			client := &res.Levels[0].Client
			if n := last["redline.requests"].GetSum().DataPoints[0].GetAsInt(); n != int64(client.Requests) {
				t.Errorf("the collector has %d requests, the result %d", n, client.Requests)
			}
			h := last["redline.request.duration"].GetExponentialHistogram().DataPoints[0]
			if h.Count != client.Latency.Count {
				t.Errorf("the histogram has %d requests, the result %d", h.Count, client.Latency.Count)
			}
			width := math.Exp2(1.0/(1<<telemetry.Scale)) - 1
			for _, p := range []float64{50, 90, 99} {
				want := float64(client.Latency.At(p)) / 1e9
				if got := quantile(h, p/100); math.Abs(got-want) > (width+0.002)*want {
					t.Errorf("p%v is %v at the collector, %v in the result", p, got, want)
				}
			}
			seen := parents(t, log, res.StartUnixNs)
			for parent := range seen {
				if !spans[parent] {
					t.Errorf("no span of the client is %s", parent)
				}
			}
			if len(seen) == 0 || len(seen) != len(spans) {
				t.Errorf("the server saw %d traces, the collector has %d", len(seen), len(spans))
			}
		})
	}
}

// The spans of client and reference server are trees in the output of a real collector, whichever way they came to it.
func TestRealCollectorJoinsSpans(t *testing.T) {
	c := startCollector(t)
	for name, endpoint := range map[string]string{"grpc": "grpc://" + c.grpc, "http": "http://" + c.http} {
		t.Run(name, func(t *testing.T) {
			before := len(c.allSpans(t))
			want := sendTraced(t, endpoint, 200)
			if n := checkTrees(t, c.allSpans(t)[before:], serverDelay); n != want {
				t.Errorf("the collector has %d spans of clients, want %d", n, want)
			}
		})
	}
}

// A collector that is killed in the middle of a run does not change the run, and the end says what was lost.
func TestRealCollectorIsKilled(t *testing.T) {
	c := startCollector(t)
	s, _ := serve(t)
	go func() {
		for {
			if about, err := os.Stat(c.file); err == nil && about.Size() > 0 {
				_ = c.process.Kill()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	res, stderr := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--request-rate-range", "200", "--request-count", "800", "--otlp", "grpc://"+c.grpc)
	if n := res.Levels[0].Client.Requests; n != 800 || !strings.Contains(stderr, "are not complete") || res.Telemetry[0].Failed == 0 || res.Telemetry[0].Failed == res.Telemetry[0].Sends {
		t.Errorf("%d requests, %+v, stderr: %s", n, res.Telemetry, stderr)
	}
}
