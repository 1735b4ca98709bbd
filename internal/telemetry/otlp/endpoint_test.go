package otlp

import (
	"strings"
	"testing"
)

func TestEndpoints(t *testing.T) {
	f := func(endpoint, protocol string, want target) {
		t.Helper()
		got, err := parse(endpoint, protocol)
		if err != nil || got != want {
			t.Errorf("%s %s: %+v, %v; want %+v", endpoint, protocol, got, err, want)
		}
	}
	f("grpc://c:4317", "", target{grpc: true, insecure: true, address: "c:4317", base: "http://c:4317"})
	f("grpcs://c", "", target{grpc: true, address: "c:4317", base: "https://c"})
	f("http://c:4318/", "", target{insecure: true, address: "c:4318", base: "http://c:4318"})
	f("https://c/otlp", "", target{address: "c", base: "https://c/otlp"})
	f("http://c:4317", "grpc", target{grpc: true, insecure: true, address: "c:4317", base: "http://c:4317"})
	f("c:4317", "", target{grpc: true, insecure: true, address: "c:4317", base: "http://c:4317"})
	f("c:4318", "", target{insecure: true, address: "c:4318", base: "http://c:4318"})
	f("c:4317", "http/protobuf", target{insecure: true, address: "c:4317", base: "http://c:4317"})
	f("env", "", target{})
	f("env", "grpc", target{grpc: true})
	for _, bad := range []string{"collector", "ftp://c:1", "http://", "grpc://", "http://me:secret@c:4318", "me:secret@c:4318", "http://c:4318?key=secret", "grpc://c:4317/path"} {
		if _, err := parse(bad, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := parse("c:4317", "http/json"); err == nil {
		t.Error("http/json was accepted")
	}
}
