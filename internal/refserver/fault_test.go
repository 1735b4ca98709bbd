package refserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/refserver"
)

// tryFault sends a request that requests a fault, on a connection of its own.
func tryFault(t *testing.T, s *refserver.Server, fault string) (status int, body string, err error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.Addresses().HTTP+"/v2/models/simple/infer", strings.NewReader(`{"inputs":[`+first+`,`+second+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Redline-Fault", fault)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

func TestFaultsOverHTTP(t *testing.T) {
	s := start(t, refserver.Config{})
	for _, c := range []struct {
		fault  string
		status int
		fails  bool // while reading
		json   bool
	}{
		{"error", 500, false, true},
		{"delay,for=1ms", 200, false, true},
		{"goaway", 200, false, true},
		{"slow,for=1us", 200, false, true},
		{"malformed", 200, false, false},
		{"truncate", 200, true, false},
		{"length", 200, true, true},
		{"reset", 0, true, false},
		{"nonsense", 400, false, false},
	} {
		status, body, err := tryFault(t, s, c.fault)
		if status != c.status || (err != nil) != c.fails || json.Valid([]byte(body)) != c.json {
			t.Errorf("%s: status %d, error %v, body %.60q", c.fault, status, err, body)
		}
	}
	if _, _, err := tryFault(t, s, "reset"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a reset is %v", err)
	}
	if status, _, err := tryFault(t, s, ""); status != 200 || err != nil {
		t.Errorf("afterwards: %d, %v", status, err)
	}
	if _, _, err := tryFault(t, s, "refuse"); err != nil {
		t.Errorf("refuse: %v", err)
	}
	if _, _, err := tryFault(t, s, ""); err == nil {
		t.Error("a new connection was not refused")
	}
}

func TestFaultsOverGRPC(t *testing.T) {
	s := start(t, refserver.Config{})
	for fault, want := range map[string]codes.Code{
		"error": codes.Internal, "malformed": codes.Internal, "reset": codes.Unavailable, "goaway": codes.OK, "delay,for=1ms": codes.OK, "nonsense": codes.InvalidArgument,
	} {
		c := dial(t, s)
		_, err := c.ModelInfer(metadata.AppendToOutgoingContext(t.Context(), "x-redline-fault", fault), simpleRequest(""))
		if got := status.Code(err); got != want {
			t.Errorf("%s: %v (%v), want %v", fault, got, err, want)
		}
		if _, err := c.ModelInfer(t.Context(), simpleRequest("")); err != nil {
			t.Errorf("after %s: %v", fault, err)
		}
	}
}

func TestEveryNthRequestOfAModelFails(t *testing.T) {
	died := false
	s := start(t, refserver.Config{Faults: map[string]string{"simple": "error,every=3", "flaky": "die"}, Die: func() { died = true }})
	var got []int
	for range 6 {
		status, _, err := tryFault(t, s, "")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, status)
	}
	if got[0] != 200 || got[1] != 200 || got[2] != 500 || got[5] != 500 {
		t.Errorf("statuses %v", got)
	}
	call(t, "http://"+s.Addresses().HTTP+"/v2/models/flaky/infer", "{}")
	if !died {
		t.Error("the server did not die")
	}
}
