package openai

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

// Headers are remembered by the size of the body: one for all requests of a size, and few in all.
func TestHeadersAreBounded(t *testing.T) {
	s, err := New(plan.Target{URL: "localhost:1", Endpoint: "v1/chat/completions"})
	if err != nil {
		t.Fatal(err)
	}
	for size := range 10 * mostHeaders {
		if h := s.header(size, nil); s.header(size, nil) != h {
			t.Fatalf("two headers for bodies of %d bytes", size)
		}
	}
	if n := len(s.headers); n > mostHeaders {
		t.Errorf("%d headers are kept", n)
	}
}
