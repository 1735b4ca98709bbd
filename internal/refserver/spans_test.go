package refserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/served"
)

// traceparent is the header of the nth request of a test.
func traceparent(n int) string { return fmt.Sprintf("00-%032x-%016x-01", n, n) }

// Every traced request has one span, over each protocol, also if it fails. Requests that are not traced have none.
func TestSpans(t *testing.T) {
	var mu sync.Mutex
	got := map[byte]telemetry.Served{}
	sink := served.Sink(func(s telemetry.Served) {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := got[s.Trace[15]]; twice {
			t.Errorf("%s has two spans", s.Name)
		}
		got[s.Trace[15]] = s
	})
	s := start(t, refserver.Config{Wrap: sink.HTTP, Options: sink.GRPC()})
	a := s.Addresses()
	list := strings.TrimSuffix(strings.Repeat("1,", 16), ",")
	body := `{"inputs":[{"name":"INPUT0","shape":[1,16],"datatype":"INT32","data":[` + list + `]},{"name":"INPUT1","shape":[1,16],"datatype":"INT32","data":[` + list + `]}]}`
	infer, chat := "http://"+a.HTTP+"/v2/models/simple/infer", `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":3,"stream":true}`
	call(t, infer, body)
	call(t, infer, body, "traceparent", traceparent(9)[:53]+"00") // not sampled
	call(t, infer, body, "traceparent", traceparent(1))
	call(t, "http://"+a.HTTP+"/v2/models/nope/infer", body, "traceparent", traceparent(2))
	call(t, "http://"+a.OpenAI+"/v1/chat/completions", chat, "traceparent", traceparent(3))
	callHTTP2(t, "http://"+a.OpenAI+"/v1/chat/completions", chat, traceparent(4))
	call(t, "http://"+a.TorchServe+"/predictions/m", "x", "traceparent", traceparent(5))

	c := dial(t, s)
	with := func(n int) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent(n))
	}
	for _, ctx := range []context.Context{t.Context(), with(6)} {
		if _, err := c.ModelInfer(ctx, simpleRequest("")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.ModelInfer(with(7), &kserve.ModelInferRequest{ModelName: "nope"}); err == nil {
		t.Error("an unknown model answers")
	}
	stream, err := c.ModelStreamInfer(with(8))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := stream.Send(simpleRequest("")); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // a span is told after its response
		t.Fatal(err)
	}
	f := func(n byte, name, version string, status int, failed bool) {
		t.Helper()
		g := got[n]
		if g.Name != name || g.Version != version || g.Status != status || g.Failed != failed || g.Parent[7] != n || g.RPC != !strings.Contains(name, " ") {
			t.Errorf("span %d is %+v", n, g)
		}
		if responded := !g.RPC || !failed; g.Received == 0 || g.End < g.Received || responded && (g.First < g.Received || g.End < g.First) || !responded && g.First != 0 {
			t.Errorf("times of span %d: %+v", n, g)
		}
	}
	const service = "inference.GRPCInferenceService/"
	f(1, "POST /v2/models/simple/infer", "1.1", http.StatusOK, false)
	f(2, "POST /v2/models/nope/infer", "1.1", http.StatusNotFound, true)
	f(3, "POST /v1/chat/completions", "1.1", http.StatusOK, false)
	f(4, "POST /v1/chat/completions", "2", http.StatusOK, false)
	f(5, "POST /predictions/m", "1.1", http.StatusOK, false)
	f(6, service+"ModelInfer", "2", 0, false)
	f(7, service+"ModelInfer", "2", 5, true)
	f(8, service+"ModelStreamInfer", "2", 0, false)
	if len(got) != 8 {
		t.Errorf("%d spans", len(got))
	}
	if g := got[8]; g.First == g.End {
		t.Errorf("the stream's first and last response have one time: %+v", g)
	}
}

// callHTTP2 sends a traced request over HTTP/2 without TLS.
func callHTTP2(t *testing.T, url, body, parent string) {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", parent)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("%s over %s: %v", resp.Status, resp.Proto, err)
	}
}

// A response that a fault takes away from its handler has a span too, which failed.
func TestSpanOfAFault(t *testing.T) {
	got := make(chan telemetry.Served, 1)
	sink := served.Sink(func(s telemetry.Served) { got <- s })
	s := start(t, refserver.Config{Wrap: sink.HTTP, Faults: map[string]string{"simple": "reset"}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addresses().HTTP+"/v2/models/simple/infer", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", traceparent(1))
	if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the connection was not reset")
	}
	if g := <-got; !g.Failed || g.Status != 0 || g.First != 0 || g.End < g.Received {
		t.Errorf("%+v", g)
	}
}
