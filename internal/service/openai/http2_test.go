package openai_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// counted is Go's own HTTP server with both versions of HTTP, which counts its connections.
type counted struct {
	target plan.Target
	conns  atomic.Int64
	last   atomic.Pointer[net.Conn] // the newest
	writes *testkit.Writes
	srv    *httptest.Server
}

func startHTTP2(t *testing.T, secure bool, h http.HandlerFunc) *counted {
	t.Helper()
	c := &counted{srv: httptest.NewUnstartedServer(h)}
	c.writes = testkit.LogWrites(c.srv.Listener)
	c.srv.Listener = c.writes
	c.srv.Config.ConnState = func(nc net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.conns.Add(1)
			c.last.Store(&nc)
		}
	}
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	c.srv.Config.Protocols = &p
	if secure {
		c.srv.EnableHTTP2 = true
		c.srv.Config.Protocols = nil
		c.srv.StartTLS()
	} else {
		c.srv.Start()
	}
	t.Cleanup(c.srv.Close)
	c.target = target(c.srv.URL)
	if secure {
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.srv.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		c.target.TLS.CAFile = ca
	} else {
		c.target.HTTPVersion = "2"
	}
	return c
}

// talk streams tokens, each flushed on its own, or answers at once where the request does not ask for a stream.
func talk(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), `"stream":true`) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"proto":%q}`, r.Proto)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 5 {
		_, _ = io.WriteString(w, token(fmt.Sprintf("%s %d", r.Proto, i)))
		w.(http.Flusher).Flush()
	}
	_, _ = io.WriteString(w, done)
}

// TestHTTP2: many streams share a connection, over TLS where the server prefers it, and without TLS when told.
func TestHTTP2(t *testing.T) {
	const slots, n = 48, 480
	for _, secure := range []bool{true, false} {
		for _, body := range []string{`{"stream":true}`, `{}`} {
			t.Run(fmt.Sprintf("tls %v %s", secure, body), func(t *testing.T) {
				s := startHTTP2(t, secure, talk)
				k, calls := open(t, newService(t, s.target), body, slots)
				k.run(calls, n)
				want := []string{`{"proto":"HTTP/2.0"}`}
				if body != `{}` {
					want = nil
					for i := range 5 {
						want = append(want, token(fmt.Sprintf("HTTP/2.0 %d", i)))
					}
					want = append(want, done)
				}
				for _, e := range k.ends {
					if d := cmp.Diff(e.texts, want); d != "" || e.err != nil || e.rec.First < e.rec.Sent || e.rec.End < e.rec.First || e.rec.In == 0 {
						t.Fatalf("%+v %s", e, d)
					}
				}
				if c := s.conns.Load(); len(k.ends) != n || c > 2 { // one to ask for the version
					t.Errorf("%d ends on %d connections", len(k.ends), c)
				}
			})
		}
	}
}

// TestHTTPVersions: over TLS both sides choose, unless told; without TLS it is 1.1.
func TestHTTPVersions(t *testing.T) {
	for _, tc := range []struct {
		secure        bool
		version, want string
	}{
		{true, "", "HTTP/2.0"},
		{true, "1.1", "HTTP/1.1"},
		{true, "2", "HTTP/2.0"},
		{false, "", "HTTP/1.1"},
		{false, "1.1", "HTTP/1.1"},
		{false, "2", "HTTP/2.0"},
	} {
		s := startHTTP2(t, tc.secure, talk)
		s.target.HTTPVersion = tc.version
		k, calls := open(t, newService(t, s.target), `{}`, 1)
		k.run(calls, 1)
		if e := k.ends[0]; len(e.texts) != 1 || e.texts[0] != fmt.Sprintf(`{"proto":%q}`, tc.want) {
			t.Errorf("%+v: %+v", tc, e)
		}
	}
}

// TestHTTP2Request: the server sees the same request as over HTTP/1.1.
func TestHTTP2Request(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		r.Header.Del("Date")
		seen = append(seen, fmt.Sprintf("%s %s %s %d %v %d", r.Method, r.URL, r.Host, r.ContentLength, r.Header, len(body)))
		_, _ = io.WriteString(w, "ok")
	})
	s.target.Headers = []plan.Header{{Name: "Authorization", Value: "Bearer abc"}, {Name: "X-None"}, {Name: "Host", Value: "models.example"}}
	s.target.Endpoint = "a/../v1/chat?x=%20"
	for _, body := range []string{`{"a":1}`, `{"a":"` + strings.Repeat("x", 200_000) + `"}`} {
		for _, version := range []string{"1.1", "2"} {
			s.target.HTTPVersion = version
			k, calls := open(t, newService(t, s.target), body, 1)
			k.run(calls, 1)
			if k.ends[0].err != nil || k.ends[0].rec.Out != uint64(len(body)) {
				t.Fatal(k.ends[0])
			}
		}
	}
	if d := cmp.Diff([]string{seen[0], seen[2]}, []string{seen[1], seen[3]}); d != "" {
		t.Error(d)
	}
}

// TestHTTP2EventTimes: each event has the time at which it came.
func TestHTTP2EventTimes(t *testing.T) {
	st := &stepper{seen: make(chan int64, 1)}
	s := startHTTP2(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{token("a"), token("b"), done} {
			if !st.step(func() { _, _ = io.WriteString(w, e); w.(http.Flusher).Flush() }) {
				return
			}
		}
	})
	k, calls := open(t, newService(t, s.target), `{}`, 1)
	k.seen = st.seen
	k.run(calls, 1)
	e := k.ends[0]
	st.check(t, e)
	if e.rec.First != e.at[0] || e.rec.End != e.at[1] {
		t.Errorf("%+v", e.rec)
	}
}

func TestHTTP2Failures(t *testing.T) {
	var again atomic.Int64
	s := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		events := func(text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
		switch r.URL.Path {
		case "/error":
			http.Error(w, "no such model", http.StatusNotFound)
		case "/abort":
			events(token("a"))
			panic(http.ErrAbortHandler)
		case "/unfinished/completions":
			events(token("a"))
		case "/fails":
			events(token("a") + `data: {"error":{"message":"out of memory"}}` + "\n\n" + done)
		case "/text":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		default:
			again.Add(1)
			_, _ = io.WriteString(w, "ok")
		}
	})
	for path, want := range map[string]struct {
		class record.Class
		text  string
	}{
		"error":                  {record.Server, "the server answered with HTTP 404 Not Found: no such model"},
		"abort":                  {record.Transport, "the server reset the stream: INTERNAL_ERROR"},
		"unfinished/completions": {record.Protocol, "malformed OpenAI response: the stream ended without data: [DONE]"},
		"fails":                  {record.Server, `OpenAI stream returns an error: {"error":{"message":"out of memory"}}`},
		"text":                   {record.Protocol, "malformed OpenAI response: not JSON"},
	} {
		tg := s.target
		tg.Endpoint = path
		k, calls := open(t, newService(t, tg), `{}`, 1)
		k.run(calls, 2) // the connection goes on
		for _, e := range k.ends {
			if e.rec.Class != want.class || e.err == nil || !strings.HasPrefix(e.err.Error(), want.text) {
				t.Errorf("%s: %s %v", path, e.rec.Class, e.err)
			}
		}
	}
}

// TestNotHTTP2: a server without HTTP/2 is named as such.
func TestNotHTTP2(t *testing.T) {
	tg := target(serve(t, always(plain(400, "text/plain", "what?"))))
	tg.HTTPVersion = "2"
	s := newService(t, tg)
	tr, err := s.Open(t.Context(), &collector{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	err = tr.Grow(t.Context(), 1)
	e, ok := errors.AsType[*service.Error](err)
	if !ok || e.Class != record.Connect || !strings.Contains(e.Error(), "--http-version 1.1") {
		t.Errorf("%v", err)
	}
}

// TestHTTP2Cut: a cut ends one stream and leaves the others alone.
func TestHTTP2Cut(t *testing.T) {
	release := make(chan struct{})
	var running sync.WaitGroup
	running.Add(2)
	s := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token("a"))
		w.(http.Flusher).Flush()
		running.Done()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, done)
	})
	k, calls := open(t, newService(t, s.target), `{}`, 2)
	k.ended = make(chan *service.Call, 2)
	go func() {
		running.Wait()
		k.tr.Cut(0, record.Timeout)
		<-k.ended
		close(release)
	}()
	k.run(calls, 2)
	if k.ends[0].rec.Class != record.Timeout || k.ends[1].rec.Class != record.OK {
		t.Errorf("%+v", k.ends)
	}
}
