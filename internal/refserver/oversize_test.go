package refserver_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpczip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/refserver/kgrpc"
)

// With a limit, a JSON, a raw body and an unpacked body that is larger is refused with its words; what fits is served.
func TestOversizeBodies(t *testing.T) {
	const limit = 600
	s := start(t, refserver.Config{MaxInput: limit})
	base := "http://" + s.Addresses().HTTP + "/v2/models/"
	const head, tail = `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,1],"data":["`, `"]}]}`
	text := func(size int) string { return head + strings.Repeat("x", size-len(head+tail)) + tail }
	pack := func(w io.WriteCloser, packed *bytes.Buffer, size int) string {
		t.Helper()
		if _, err := io.WriteString(w, text(size)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return packed.String()
	}
	var small, zipped, deflated bytes.Buffer
	f := func(name, model, body, refusal string, headers ...string) {
		t.Helper()
		want := http.StatusOK
		if refusal != "" {
			want = http.StatusBadRequest
		}
		code, _, answer := call(t, base+model, body, headers...)
		if code != want || !strings.Contains(answer, refusal) {
			t.Errorf("%s: %d %s", name, code, answer)
		}
	}
	const json, unpacked = "request JSON size of 601 bytes exceeds the maximum allowed input size of 600 bytes", "Decompressed data size exceeds the maximum allowed value of 600 bytes"
	f("as much as may be", "simple_identity/infer", text(limit), "")
	f("a byte more", "simple_identity/infer", text(limit+1), json)
	f("for a generated text", "ensemble/generate", `{"text_input":"`+strings.Repeat("x", limit-16)+`"}`, json)
	f("packed", "simple_identity/infer", pack(gzip.NewWriter(&small), &small, limit), "", "Content-Encoding", "gzip")
	f("small, but it grows", "simple_identity/infer", pack(gzip.NewWriter(&zipped), &zipped, 100_000), unpacked, "Content-Encoding", "gzip")
	f("deflated", "simple_identity/infer", pack(zlib.NewWriter(&deflated), &deflated, limit+1), unpacked, "Content-Encoding", "deflate")
	raw := []string{"Inference-Header-Content-Length", "0", "Content-Type", "application/octet-stream"}
	f("raw", "custom_identity_fp32/infer", strings.Repeat("\x00", limit), "", raw...)
	f("raw, four bytes more", "custom_identity_fp32/infer", strings.Repeat("\x00", limit+4), "Raw input has a byte_size (604 bytes) that exceeds the maximum", raw...)
}

// A packed body may unpack to so much and no more, over HTTP and gRPC. Refused bodies leave the whole limit to the next.
func TestUnpackedBodies(t *testing.T) {
	const limit = 100_000
	s := start(t, refserver.Config{MaxUnpacked: limit})
	t.Cleanup(func() { kgrpc.LimitUnpacked(0) }) // the gRPC library's limit is that of the process
	pack := func(size int) string {              // a body that unpacks well, and is then refused because it has no inputs
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := io.WriteString(w, strings.Repeat(" ", size-2)+"{}"); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return packed.String()
	}
	const refusal = "the request unpacks to more than the limit of 100000 bytes"
	for range 2 {
		for size, want := range map[int]int{limit: http.StatusInternalServerError, limit + 1: http.StatusRequestEntityTooLarge, 100 * limit: http.StatusRequestEntityTooLarge} {
			code, _, answer := call(t, "http://"+s.Addresses().HTTP+"/v2/models/simple/infer", pack(size), "Content-Encoding", "gzip")
			if code != want || strings.Contains(answer, refusal) != (want == http.StatusRequestEntityTooLarge) {
				t.Errorf("%d bytes over HTTP: %d %s", size, code, answer)
			}
		}
		for _, kind := range []string{grpczip.Name, "deflate"} {
			small, large := simpleRequest(""), simpleRequest("")
			large.Id = strings.Repeat("x", 3*limit)
			if _, err := dial(t, s).ModelInfer(t.Context(), small, grpc.UseCompressor(kind)); err != nil {
				t.Errorf("a small message packed with %s: %v", kind, err)
			}
			_, err := dial(t, s).ModelInfer(t.Context(), large, grpc.UseCompressor(kind))
			if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "after decompression larger than max 100000") {
				t.Errorf("a large message packed with %s: %v", kind, err)
			}
		}
	}
}
