package clients_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// ask sends a request that requests a fault on a new connection, and reports whether it got a response.
func ask(t *testing.T, s *binary.Server, port, path, fault string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Ports[port]+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Redline-Fault", fault)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testkit.Limit}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}

// The faults that no server survives, or that last.
func TestRefuseAndDie(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	for port, path := range map[string]string{"http": "/v2/models/simple/infer", "openai": "/v1/completions", "torchserve": "/predictions/any"} {
		t.Run(port, func(t *testing.T) {
			s := start(t)
			if !ask(t, s, port, path, "refuse") {
				t.Error("the request that asked to refuse was not answered")
			}
			for other, address := range s.Ports {
				if other == "metrics" {
					continue
				}
				if what := welcome(t, address); what != "" {
					t.Errorf("%s: a new connection is %s", other, what)
				}
			}
			s = start(t)
			if ask(t, s, port, path, "die") {
				t.Error("a dead server answered")
			}
			for end := time.Now().Add(testkit.Limit); listens(t, s.Ports[port]); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the server lives")
				}
			}
		})
	}
}

// welcome is what becomes of a new connection: nothing where it is refused, or closed without a response.
func welcome(t *testing.T, address string) string {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testkit.Limit))
	c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")) // the server may have hung up
	n, err := c.Read(make([]byte, 1))
	switch {
	case n > 0:
		return "served"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "neither refused nor closed"
	}
	return ""
}

// listens reports whether somebody accepts connections.
func listens(t *testing.T, address string) bool {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
