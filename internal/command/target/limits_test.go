package target

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWidenNamesTheLineThatHelps(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		if got := widen(fmt.Errorf("dial: %w", err)); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	f(syscall.EMFILE, "ulimit -n ")
	f(syscall.EADDRNOTAVAIL, "net.ipv4.ip_local_port_range")
	f(syscall.ECONNREFUSED, "")
}

func TestSpread(t *testing.T) {
	f := func(need int, server string, given, want []string, fails bool) {
		t.Helper()
		got, err := spread(need, 32768, 60999, server, given)
		if !slices.Equal(got, want) || (err != nil) != fails {
			t.Errorf("%d to %s from %v: got %v, %v; want %v", need, server, given, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "ip_local_port_range") {
			t.Errorf("no way out in %q", err)
		}
	}
	f(25_000, "10.0.0.1:8000", nil, nil, false)
	f(26_000, "10.0.0.1:8000", nil, nil, true)
	f(26_000, "10.0.0.1:8000", []string{"10.0.0.2", "10.0.0.3"}, []string{"10.0.0.2", "10.0.0.3"}, false)
	f(26_000, "10.0.0.1:8000", []string{"10.0.0.2"}, []string{"10.0.0.2"}, true)
	f(10_000, "localhost:8000", nil, nil, false)
	if everyLoopback {
		f(26_000, "localhost:8000", nil, []string{"127.0.0.1", "127.0.0.2"}, false)
		f(60_000, "http://127.0.0.1:8000/x", nil, []string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}, false)
		f(60_000, "[::1]:8000", nil, nil, true)
	}
}
