package telemetry

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// clockError is how far the wall clocks of two processes may differ: each reads its clock in two steps.
const clockError = time.Millisecond

// checkTrees holds that each span of a client has exactly one span of the server below it, which lies within its time and takes at
// least as long as the server's delay. It returns the number of the client's spans.
func checkTrees(t *testing.T, all []*tracepb.Span, delay time.Duration) int {
	t.Helper()
	type parent struct{ trace, span string }
	children := map[parent][]*tracepb.Span{}
	clients, servers := 0, 0
	for _, s := range all {
		if s.Kind == tracepb.Span_SPAN_KIND_SERVER {
			servers++
			key := parent{hex.EncodeToString(s.TraceId), hex.EncodeToString(s.ParentSpanId)}
			children[key] = append(children[key], s)
		}
	}
	for _, s := range all {
		if s.Kind != tracepb.Span_SPAN_KIND_CLIENT {
			continue
		}
		clients++
		list := children[parent{hex.EncodeToString(s.TraceId), hex.EncodeToString(s.SpanId)}]
		if len(list) != 1 {
			t.Fatalf("the client's span %x has %d spans of the server below it", s.SpanId, len(list))
		}
		c := list[0]
		if c.StartTimeUnixNano+uint64(clockError) < s.StartTimeUnixNano || c.EndTimeUnixNano > s.EndTimeUnixNano+uint64(clockError) {
			t.Errorf("the server's span from %d to %d does not lie within the client's from %d to %d", c.StartTimeUnixNano, c.EndTimeUnixNano, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		var names []string
		for _, e := range c.Events {
			names = append(names, e.Name)
		}
		if !slices.Equal(names, []string{"received", "first response", "last response"}) || c.Events[1].TimeUnixNano-c.StartTimeUnixNano < uint64(delay) {
			t.Errorf("the server's span has the events %v", c.Events)
		}
	}
	if clients != servers {
		t.Errorf("%d spans of clients, %d of the server", clients, servers)
	}
	return clients
}

// serverDelay is the delay of the server whose spans are compared with those of clients: much longer than clockError.
const serverDelay = 20 * time.Millisecond

// serveSpans starts a reference server that sends spans.
func serveSpans(t *testing.T, endpoint string, options ...string) *binary.Server {
	t.Helper()
	s, err := binary.StartServer(t.TempDir(), bin, append([]string{"--otlp", endpoint, "--delay", "simple=20ms", "--ttft", "20ms"}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sendTraced sends traced requests to the server over each protocol, all spans to the endpoint, and stops the server, which sends its last
// spans. It returns the number of requests.
func sendTraced(t *testing.T, endpoint string, requests int) int {
	t.Helper()
	s := serveSpans(t, endpoint)
	defer s.Stop() // if a run fails; a stopped server may be stopped again
	runs := [][]string{
		{"profile", "-m", "simple", "-u", s.HTTP, "--concurrency-range", "4"},
		{"profile", "-m", "simple", "-u", s.GRPC, "-i", "grpc", "--request-rate-range", "30"},
		{"llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--concurrency", "4", "--output-tokens-mean", "3"},
		{"llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--http-version", "2", "--concurrency", "4", "--output-tokens-mean", "3"},
	}
	for _, args := range runs {
		_, stderr := run(t, append(args, "--request-count", strconv.Itoa(requests), "--otlp", endpoint, "--trace-requests", "100%")...)
		checkArrived(t, stderr)
	}
	s.Stop()
	checkArrived(t, s.Stderr.String())
	return len(runs) * requests
}

// checkArrived holds that a program said nothing about spans that did not arrive. A program gives its collector a few seconds, which may
// be too short on a machine without CPU time.
func checkArrived(t *testing.T, stderr string) {
	t.Helper()
	switch {
	case strings.Contains(stderr, "no answer within"):
		outcome.Inconclusive(t, stderr)
	case strings.Contains(stderr, "OTLP"):
		t.Errorf("stderr: %s", stderr)
	}
}

// The spans of the reference server hang below those of the client, one below each, over each protocol.
func TestServerSpansJoin(t *testing.T) {
	r, url := listen(t, nil)
	want := sendTraced(t, url, 30)
	if n := checkTrees(t, r.all, serverDelay); n != want {
		t.Errorf("%d spans of clients came, want %d", n, want)
	}
}

// A server whose collector is not there serves as before, and says at its end which spans were lost.
func TestServerSpansAreLost(t *testing.T) {
	s := serveSpans(t, "http://"+testkit.Port(t), "--otlp-header", "api-key: s3cret-of-mine")
	defer s.Stop() // if the run fails; a stopped server may be stopped again
	_, url := listen(t, nil)
	res, _ := run(t, "profile", "-m", "simple", "-u", s.HTTP, "--request-count", "10", "--otlp", url, "--trace-requests", "100%")
	s.Stop()
	if text := s.Stderr.String(); res.Levels[0].Client.Failed != 0 || !strings.Contains(text, "warning: OTLP spans: 10 of 10 did not arrive") || strings.Contains(text, "s3cret") {
		t.Errorf("%d requests failed; stderr of the server: %s", res.Levels[0].Client.Failed, text)
	}
}
