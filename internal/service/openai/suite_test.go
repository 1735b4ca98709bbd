package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

// payloads are requests with a streamed answer and with a whole one.
var payloads = map[string]string{
	"streamed": `{"model":"m","stream":true,"max_tokens":4,"messages":[{"role":"user","content":"hello"}]}`,
	"whole":    `{"model":"m","max_tokens":4,"messages":[{"role":"user","content":"hello"}]}`,
}

const faultHeader = "X-Redline-Fault"

func faulty(tg plan.Target, f suite.Fault) plan.Target {
	if f != suite.None {
		tg.Headers = []plan.Header{{Name: faultHeader, Value: string(f)}}
	}
	return tg
}

func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for name, body := range payloads {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, suite.Kind{
				Addr: srv.Addresses().OpenAI, Inputs: inputs(body),
				New: func(t *testing.T, addr string, f suite.Fault) service.Service {
					return newService(t, faulty(target(addr), f))
				},
			})
		})
	}
}

// TestSuiteHTTP2 runs the suite over HTTP/2, against Go's own server.
func TestSuiteHTTP2(t *testing.T) {
	stop := make(chan struct{})
	s := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch suite.Fault(r.Header.Get(faultHeader)) {
		case suite.Error:
			http.Error(w, "no", http.StatusInternalServerError)
		case suite.Malformed:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		case suite.Hang:
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		case suite.None:
			talk(w, r)
		}
	})
	defer close(stop)
	for name, body := range payloads {
		t.Run(name, func(t *testing.T) {
			suite.Run(t, suite.Kind{
				Addr: strings.TrimPrefix(s.srv.URL, "http://"), Inputs: inputs(body),
				New: func(t *testing.T, addr string, f suite.Fault) service.Service {
					tg := faulty(target(addr), f)
					tg.HTTPVersion = "2"
					return newService(t, tg)
				},
			})
		})
	}
}
