package vllm

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var record = flag.Bool("record", false, "record the responses of a real vLLM in testdata/recorded")

// recorder is a proxy that writes down what the server behind it answers, one request at a time.
type recorder struct {
	t     *testing.T
	s     *live
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	list  []exchange
	known map[string]bool
}

// TestRecord records the exchanges of all cases. e2e/vllm/record.sh runs it.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("e2e/vllm/record.sh records responses")
	}
	r := &recorder{t: t, s: startReal(t)}
	r.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: r.s.Addr})
	r.proxy.FlushInterval = -1
	srv := httptest.NewServer(r)
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	for _, endpoint := range endpoints {
		r.list, r.known = nil, map[string]bool{}
		for _, way := range [][]string{{"--streaming"}, nil} {
			redline(t, addr, append(append(prompts(t, endpoint), "--concurrency", "1", "--request-count", "4"), way...)...)
		}
		redline(t, addr, append(prompts(t, endpoint), "--streaming", "-m", "none", "--request-count", "1")...)
		redline(t, addr, append(long(t, endpoint), "--request-count", "1")...)
		r.write(endpoint)
	}
}

// ServeHTTP implements http.Handler.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	q.Body, q.Host = io.NopCloser(bytes.NewReader(body)), r.s.Addr
	before := r.s.counted(r.t)
	copied := &copying{ResponseWriter: w}
	r.proxy.ServeHTTP(copied, q)
	x := exchange{Path: q.URL.Path, Request: essence(body), Status: copied.status, Type: w.Header().Get("Content-Type"), Body: copied.body.String()}
	x.Body = strings.ReplaceAll(x.Body, filepath.Dir(r.s.LogFile), "/models") // the folder of the model stands in the list of models
	grown := r.s.counted(r.t).Since(before)
	x.Prompt, x.Generated = grown.Prompt, grown.Generated
	if name := key(x.Path, x.Request); !r.known[name] {
		r.known[name] = true
		r.list = append(r.list, x)
	}
}

// write writes the exchanges of an endpoint.
func (r *recorder) write(endpoint string) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r.list); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(recordings(), endpoint+".json"), text.Bytes(), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// copying keeps what is written to a client.
type copying struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (c *copying) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *copying) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

// Unwrap lets the proxy flush.
func (c *copying) Unwrap() http.ResponseWriter { return c.ResponseWriter }
