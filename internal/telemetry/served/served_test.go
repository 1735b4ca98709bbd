package served

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/redline-bench/redline/internal/telemetry"
)

func TestTraceparent(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	f := func(text string, want bool) {
		t.Helper()
		s, ok := parse(text)
		if ok != want {
			t.Errorf("%q: %t, want %t", text, ok, want)
		}
		if ok && (hex.EncodeToString(s.Trace[:]) != trace || hex.EncodeToString(s.Parent[:]) != parent) {
			t.Errorf("%q is read as %x and %x", text, s.Trace, s.Parent)
		}
	}
	f("00-"+trace+"-"+parent+"-01", true)
	f("00-"+trace+"-"+parent+"-03", true)
	f("00-"+trace+"-"+parent+"-00", false) // not sampled
	f("01-"+trace+"-"+parent+"-01", true)  // a later version
	f("01-"+trace+"-"+parent+"-01-more", true)
	f("01-"+trace+"-"+parent+"-01more", false)
	f("00-"+trace+"-"+parent+"-01-more", false)
	f("ff-"+trace+"-"+parent+"-01", false)
	f("00-"+trace+"-"+parent, false)
	f("00-4BF92F3577B34DA6A3CE929D0E0E4736-"+parent+"-01", false)
	f("00-00000000000000000000000000000000-"+parent+"-01", false)
	f("00-"+trace+"-0000000000000000-01", false)
	f("00-"+trace+"_"+parent+"-01", false)
	f("0g-"+trace+"-"+parent+"-01", false)
	f("00-"+trace+"-"+parent+"-0x", false)
}

// A server without a sink has nothing in the path of its requests.
func TestNoSink(t *testing.T) {
	var s Sink
	if s.HTTP(nil) != nil || s.GRPC() != nil {
		t.Error("a nil sink wraps handlers")
	}
}

// A request that is not traced is looked at and nothing else: nothing is allocated for it.
func TestUntracedRequestsCostNothing(t *testing.T) {
	s := Sink(func(telemetry.Served) { t.Error("a request that is not traced has a span") })
	h := s.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/models/simple/infer", nil)
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("user-agent", "test"))
	n := testing.AllocsPerRun(100, func() {
		h.ServeHTTP(nil, r)
		if _, ok := s.start(ctx); ok {
			t.Error("a call that is not traced has a span")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parse(text); ok && text[3:35] != hex.EncodeToString(s.Trace[:]) {
			t.Errorf("%q is read as %x", text, s.Trace)
		}
	})
}
