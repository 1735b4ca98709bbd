package httppool

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/service"
)

func TestURLs(t *testing.T) {
	for raw, want := range map[string]Server{
		"localhost:8000":         {addr: "localhost:8000", host: "localhost", name: "localhost:8000"},
		"http://a.b/":            {addr: "a.b:80", host: "a.b", name: "a.b"},
		"https://a.b":            {addr: "a.b:443", host: "a.b", name: "a.b", secure: true},
		"HTTPS://[::1]:9/x/y%2F": {addr: "[::1]:9", host: "::1", name: "[::1]:9", base: "/x/y%2F", secure: true},
		"[::1]:9":                {addr: "[::1]:9", host: "::1", name: "[::1]:9"},
	} {
		got, err := parseURL(raw)
		if err != nil || !cmp.Equal(got, want, cmp.AllowUnexported(Server{})) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for raw, want := range map[string]error{
		"": service.ErrAddress, ":": service.ErrAddress, "/x": service.ErrAddress, "a:b": service.ErrAddress, "a:99999": service.ErrAddress,
		"ftp://a:1": service.ErrScheme,
	} {
		if _, err := parseURL(raw); !errors.Is(err, want) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}
