package plan_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

func TestAddress(t *testing.T) {
	f := func(text string, p plan.Protocol, want string, wantTLS bool, apis ...string) {
		t.Helper()
		got, tls, err := plan.Address(text, p, apis...)
		if err != nil || got != want || tls != wantTLS {
			t.Errorf("Address(%q, %s) = %q, %v, %v, want %q, %v", text, p, got, tls, err, want, wantTLS)
		}
	}
	web := func(text, want string, apis ...string) { t.Helper(); f(text, plan.HTTP, want, false, apis...) }
	web("localhost:8000", "localhost:8000", "v2")
	web(" localhost:8000/ ", "localhost:8000", "v2")
	web("http://h:1/v1", "http://h:1", "v1/chat/completions")
	web("https://h/openai/v1/", "https://h/openai", "v1")
	web("http://h:1/v1/chat/completions", "http://h:1", "v1/completions")
	web("http://h:1/v2/models/simple/infer", "http://h:1", "v2")
	web("h:1/base", "h:1/base", "v2")
	web("h:1/v1", "h:1/v1", "chat/completions")
	web("h:1/api/chat", "h:1", "api/chat")
	web("h:1/api", "h:1", "api/chat")
	web("h:1/api/other", "h:1/api/other", "api/chat")
	web("http://h:1/v1?key=x", "http://h:1/v1?key=x", "v1")
	call := func(text, want string, tls bool) { t.Helper(); f(text, plan.GRPC, want, tls, "v2") }
	call("h:1", "h:1", false)
	call("http://h:1/", "h:1", false)
	call("grpc://h:1", "h:1", false)
	call("grpcs://h:1/v2", "h:1", true)
	call("https://h", "h:443", true)
	call("http://[::1]:5", "[::1]:5", false)
	call("http://[::1]", "[::1]:80", false)
	call("dns:///h:1", "dns:///h:1", false)
	call("h", "h", false)
	call("http://user:secret@h:1/", "h:1", false)
	bad := func(text string, p plan.Protocol, want string) {
		t.Helper()
		if _, _, err := plan.Address(text, p, "v2"); err == nil || err.Error() != want {
			t.Errorf("Address(%q, %s): %v, want %s", text, p, err, want)
		}
	}
	bad("grpc://h:1", plan.HTTP, "-u grpc://h:1 is a gRPC address: add -i grpc, or write http://HOST:PORT")
	bad("ftp://h:1", plan.GRPC, "-u ftp://h:1 has the scheme ftp: write HOST:PORT")
	bad("http://h:1/x", plan.GRPC, "-u http://h:1/x has a path, and gRPC has none: write HOST:PORT")
}
