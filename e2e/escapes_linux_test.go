package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// A server's text reaches the user without the characters that control a terminal, whichever command meets it, and when.
func TestTextOfServersControlsNoTerminal(t *testing.T) {
	const said = "overloaded \x1b[31m\x1b]0;title\a\u009b2J now"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(codes.Unavailable, said) }))
	go func() { _ = rpc.Serve(listener) }()
	defer rpc.Stop()
	refusing := refusesInferences(t, said)
	body := func(text string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "soon\u009b2J")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, text)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	plain, inJSON, nested := body(said), body(fmt.Sprintf(`{"error":%q}`, said)), body(fmt.Sprintf(`{"error":{"message":%q}}`, said))
	check := func(line, at string) {
		t.Helper()
		args := strings.Fields(line)
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, args[0]), append(args[1:], "-u", at)...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		if i := strings.IndexAny(string(out), "\x1b\a\u009b"); i >= 0 {
			t.Errorf("%s -u %s: %q", line, at, out[max(0, i-80):min(len(out), i+40)])
		}
	}
	for _, line := range []string{
		"redline profile -m x -i grpc", "redline inspect", "redline inspect -m x", "redline doctor", "redline simple -m x", "redline stress sequence x", "redline find profile -m x -i grpc --slo p99<1s",
		"redline tune -m x -i grpc --slo p99<1s --vary instances=1,2", "redline llm -m x -i grpc", "redline llm -m x -i grpc --console blocks", "redline calibrate profile -m x -i grpc", "perf_analyzer -m x -i grpc",
		"redline profile -m x", "redline llm -m x --request-count 2", "redline llm -m x --request-count 2 --endpoint-type completions --streaming --quiet", "redline llm -m x --wait-for-model-timeout 1ms",
		"redline profile -m x --service-kind openai --async --endpoint v1/chat/completions", "perf_analyzer -m x",
	} {
		at := []string{plain, inJSON, nested}
		if strings.Contains(line, "grpc") || strings.Contains(line, "stress") {
			at = []string{listener.Addr().String()}
		}
		for _, at := range at {
			check(line, at)
		}
	}
	for _, line := range []string{
		"redline profile -m simple -i grpc --request-count 4", "redline profile -m simple -i grpc --async --request-rate-range 50 --request-count 4", "perf_analyzer -m simple -i grpc --request-count 4",
		"redline profile -m simple -i grpc --async --streaming --request-count 4", "redline profile -m simple -i grpc --warmup-request-count 2 --request-count 4", "redline profile -m simple -i grpc -p 200",
		"redline llm -m tensorrt_llm -i grpc --request-count 2", "redline llm -m ensemble -i grpc --request-count 2 --wait-for-model-timeout 1", "redline simple -m custom_identity_fp32 --protocol grpc -c 2",
		"redline stress sequence custom_sequence_int32 --protocol grpc -i 1", "redline find profile -m simple -i grpc --slo p99<1s --budget 5s", "redline doctor --protocol grpc", "redline inspect -m simple -i grpc",
		"redline tune -m simple -i grpc --slo p99<1s --vary instances=1,2 --budget 5s", "redline calibrate profile -m simple -i grpc",
	} {
		check(line, refusing)
	}
}

// refusesInferences is a server with the models of a reference server that refuses every inference over gRPC with a text.
func refusesInferences(t *testing.T, said string) string {
	t.Helper()
	srv, err := startServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	back, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		if strings.HasSuffix(method, "Infer") {
			return status.Error(codes.Unavailable, said)
		}
		var in, out rawMessage
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		if err := back.Invoke(stream.Context(), method, &in, &out, grpc.ForceCodecV2(rawCodec{})); err != nil {
			return err
		}
		return stream.SendMsg(&out)
	}))
	go func() { _ = rpc.Serve(listener) }()
	t.Cleanup(rpc.Stop)
	return listener.Addr().String()
}
