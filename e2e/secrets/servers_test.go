package secrets

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// servers are what the commands talk to, as HOST:PORT.
type servers struct {
	openai   string // answers chat requests, and repeats the headers in the text
	kserve   string // the reference server
	grpc     string
	metrics  string // a Prometheus page
	refuses  string // 401 with everything that was sent
	unknown  string // 404 with everything that was sent
	nonsense string // broken JSON with everything that was sent
	hangs    string // never answers

	mu   sync.Mutex
	seen strings.Builder // everything that was sent to refuses
	hung int             // requests that hang
}

// start starts all of them.
func start(t *testing.T) *servers {
	t.Helper()
	s := &servers{}
	serve := func(h http.HandlerFunc) string {
		server := httptest.NewServer(h)
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		return strings.TrimPrefix(server.URL, "http://")
	}
	s.openai = serve(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`, echo(r))
	})
	s.metrics = serve(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "# HELP busy %s\n# TYPE busy gauge\nbusy{url=%q} 1\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"u\"} 1\n", strings.ReplaceAll(echo(r), "\n", " "), r.URL.String())
	})
	s.refuses = serve(func(w http.ResponseWriter, r *http.Request) {
		text := echo(r)
		s.mu.Lock()
		s.seen.WriteString(text)
		s.mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":%q}}`, text)
	})
	s.unknown = serve(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"error":%q}`, "there is no such model: "+echo(r))
	})
	s.nonsense = serve(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"broken": %s`, echo(r)) })
	release := make(chan struct{})
	s.hangs = serve(func(_ http.ResponseWriter, r *http.Request) {
		echo(r) // the server notices the end of a connection once the request is read
		s.mu.Lock()
		s.hung++
		s.mu.Unlock()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	k := binary.Served(t, bin)
	s.kserve, s.grpc = k.HTTP, k.GRPC
	return s
}

// echo is everything that a request says.
func echo(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	for name, list := range r.Header {
		for _, v := range list {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	b.Write(body)
	return b.String()
}

func (s *servers) hanging() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hung
}
