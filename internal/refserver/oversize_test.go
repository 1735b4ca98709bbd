package refserver_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/refserver"
)

// With a limit, what is larger is refused with its words, unpacked bodies too; what fits is served.
func TestOversizeBodies(t *testing.T) {
	s := start(t, refserver.Config{MaxInput: 600})
	url := "http://" + s.Addresses().HTTP + "/v2/models/simple_identity/infer"
	body := func(n int) string {
		return `{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[1,1],"data":["` + strings.Repeat("x", n) + `"]}]}`
	}
	if code, _, text := call(t, url, body(100)); code != http.StatusOK {
		t.Errorf("a small body: %d %s", code, text)
	}
	if code, _, text := call(t, url, body(2000)); code != http.StatusBadRequest || !strings.Contains(text, "exceeds the maximum allowed input size of 600 bytes") {
		t.Errorf("a large body: %d %s", code, text)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(body(100_000))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, _, text := call(t, url, packed.String(), "Content-Encoding", "gzip")
	if code != http.StatusBadRequest || !strings.Contains(text, "exceeds the maximum") {
		t.Errorf("a small body that grows: %d %s", code, text)
	}
}
