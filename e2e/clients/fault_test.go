package clients_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
)

// ask sends a request that asks for a fault on a new connection, and tells whether it was answered.
func ask(t *testing.T, s *binary.Server, port, path, fault string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Ports[port]+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Redline-Fault", fault)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
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
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				c.SetReadDeadline(time.Now().Add(10 * time.Second))
				c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
				if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
					t.Errorf("%s serves a new connection", other)
				}
				c.Close()
			}
			s = start(t)
			if ask(t, s, port, path, "die") {
				t.Error("a dead server answered")
			}
			end := time.Now().Add(10 * time.Second)
			for syscall.Kill(s.Pid(), 0) == nil && time.Now().Before(end) {
				if _, err := net.Dial("tcp", s.Ports[port]); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Error("the server lives")
		})
	}
}
