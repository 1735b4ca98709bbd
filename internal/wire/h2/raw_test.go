package h2_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// plainServer is Go's own HTTP/2 server, without TLS.
func plainServer(t *testing.T, h http.HandlerFunc) *h2.Conn {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: h, Protocols: &p}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	c, err := h2.Dial(t.Context(), h2.Config{Addr: ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Serve() }()
	t.Cleanup(func() { c.Close(); <-done })
	return c
}

// plain is one plain exchange and what came of it.
type plain struct {
	stream h2.Stream
	head   wire.Reply
	body   bytes.Buffer
	pieces int
	times  []int64
	end    h2.End
	begun  chan struct{} // closed with the first piece
	done   chan struct{}
}

func (p *plain) OnHead(r *wire.Reply) { p.head, p.times = *r, append(p.times, r.First) }
func (p *plain) OnMessage(b []byte, at int64) {
	if p.pieces++; p.pieces == 1 {
		close(p.begun)
	}
	p.body.Write(b)
	p.times = append(p.times, at)
}
func (p *plain) OnEnd(end h2.End, _ int64) { p.end = end; close(p.done) }

func post(t *testing.T, c *h2.Conn, path string, body []byte) *plain {
	t.Helper()
	p := &plain{begun: make(chan struct{}), done: make(chan struct{})}
	p.stream.Bind(p)
	h := h2.NewHeader(h2.Field{Name: ":method", Value: "POST"}, h2.Field{Name: ":scheme", Value: "http"},
		h2.Field{Name: ":path", Value: path}, h2.Field{Name: ":authority", Value: "x"},
		h2.Field{Name: "content-length", Value: strconv.Itoa(len(body))})
	if err := c.Open(&p.stream, h, h2.Message{Body: body, Framed: true, Last: true}); err != nil {
		t.Fatal(err)
	}
	c.Flush()
	return p
}

func TestPlain(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // larger than the windows that servers open with
	c := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != int64(len(body)) {
			t.Errorf("%d of %d bytes, %v", len(body), r.ContentLength, err)
		}
		switch r.URL.Path {
		case "/echo":
			w.Header().Set("Content-Type", "application/json")
			w.Write(body)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/error":
			http.Error(w, "no such model", http.StatusNotFound)
		case "/trailers":
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "text")
			w.Header().Set("X-Sum", "1")
		case "/early":
			w.WriteHeader(http.StatusProcessing)
			w.WriteHeader(http.StatusOK)
		}
	})
	for _, tc := range []struct {
		path   string
		body   []byte
		status int
		want   string
	}{
		{"/echo", []byte(`{"a":1}`), 200, `{"a":1}`},
		{"/echo", big, 200, string(big)},
		{"/echo", nil, 200, ""},
		{"/none", []byte("x"), 204, ""},
		{"/error", []byte("x"), 404, "no such model\n"},
		{"/trailers", nil, 200, "text"},
		{"/early", nil, 200, ""},
	} {
		p := post(t, c, tc.path, tc.body)
		<-p.done
		if p.end.Err != nil || p.head.Status != tc.status || p.body.String() != tc.want {
			t.Errorf("%s: status %d, %d bytes, %v", tc.path, p.head.Status, p.body.Len(), p.end.Err)
		}
	}
	if p := post(t, c, "/echo", []byte("x")); true {
		<-p.done
		if d := cmp.Diff(p.head, wire.Reply{Status: 200, Type: []byte("application/json"), Number: -1, First: p.times[0]}, cmpopts.EquateEmpty()); d != "" || p.stream.First() != p.times[0] {
			t.Error(d)
		}
	}
}

// TestPlainStreams runs many streams on one connection; each piece comes when it was written.
func TestPlainStreams(t *testing.T) {
	const streams, events = 64, 20
	next := make(chan struct{})
	c := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range events {
			fmt.Fprintf(w, "data: %s %d\n\n", r.URL.RawQuery, i)
			w.(http.Flusher).Flush()
			if i == 0 {
				<-next
			}
		}
	})
	all := make([]*plain, streams)
	for i := range all {
		all[i] = post(t, c, "/?"+strconv.Itoa(i), []byte("{}"))
	}
	for _, p := range all { // no server goes on before all have begun
		<-p.begun
	}
	close(next)
	for i, p := range all {
		<-p.done
		if got := strings.Count(p.body.String(), fmt.Sprintf("data: %d ", i)); got != events || p.end.Err != nil || p.pieces < 2 {
			t.Errorf("stream %d: %d events in %d pieces, %v", i, got, p.pieces, p.end.Err)
		}
	}
}

func TestPlainEnds(t *testing.T) {
	var once sync.Once
	begun := make(chan struct{})
	c := plainServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/hang":
			once.Do(func() { close(begun) })
			<-r.Context().Done()
		}
	})
	p := post(t, c, "/abort", nil)
	<-p.done
	wantKind(t, p.end.Err, neterr.StreamReset)
	p = post(t, c, "/hang", nil)
	<-begun
	c.Cancel(&p.stream, context.Canceled)
	<-p.done
	wantKind(t, p.end.Err, neterr.Canceled)
	p = post(t, c, "/", nil) // the connection goes on
	<-p.done
	if p.end.Err != nil || p.body.String() != "data: 1\n\n" {
		t.Errorf("%q, %v", p.body.String(), p.end.Err)
	}
}
