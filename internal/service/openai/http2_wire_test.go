package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

func TestHTTP2NoAllocations(t *testing.T) {
	for name, srv := range map[string]*h2test.Canned{
		"stream": h2test.StartPlain(t, "text/event-stream; charset=utf-8", append(strings.SplitAfter(strings.Repeat(token("x"), 32), "\n\n"), done)...),
		"split":  h2test.StartPlain(t, "text/event-stream", strings.SplitAfter(strings.Repeat(token("x"), 32)+done, ":")...),
		"plain":  h2test.StartPlain(t, "application/json", `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			tg := target(srv.Addr())
			tg.HTTPVersion = "2"
			k, calls := open(t, newService(t, tg), `{"stream":true}`, 4)
			k.run(calls, 4)
			for _, e := range k.ends {
				if e.err != nil || len(e.texts) == 0 {
					t.Fatalf("%+v", e)
				}
			}
			k.keep = false
			k.run(calls, 100)
			if n := testkit.Allocs(func() { k.run(calls, 200) }); n >= 1 {
				t.Errorf("%.0f allocations in 200 requests", n)
			}
		})
	}
}

// Events of a megabyte each, on many streams of one connection: more than any window holds.
func TestHTTP2FlowControl(t *testing.T) {
	const size, events, slots, n = 1 << 20, 4, 8, 8
	big := `data: {"x":"` + strings.Repeat("y", size) + "\"}\n\n"
	s := startHTTP2(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range events {
			_, _ = io.WriteString(w, big)
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, done)
	})
	k, calls := open(t, newService(t, s.target), `{}`, slots)
	k.run(calls, n)
	for _, e := range k.ends {
		if e.err != nil || len(e.texts) != events+1 || e.texts[events-1] != big || e.rec.Responses != events || e.rec.In < events*size {
			t.Fatalf("%v: %d events, %d responses, %d bytes", e.err, len(e.texts), e.rec.Responses, e.rec.In)
		}
	}
	if c := s.conns.Load(); c > 2 {
		t.Errorf("%d connections", c)
	}
}

// A server that asks to leave ends no stream; what follows goes over another connection.
func TestHTTP2GoAway(t *testing.T) {
	var asked atomic.Int64
	s := startHTTP2(t, false, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%4 == 0 {
			w.Header().Set("Connection", "close") // Go's server sends GOAWAY for it
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = io.WriteString(w, token(fmt.Sprint(i)))
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, done)
	})
	k, calls := open(t, newService(t, s.target), `{}`, 4)
	k.run(calls, 60)
	for _, e := range k.ends {
		if e.err != nil || len(e.texts) != 4 {
			t.Fatalf("%v: %q", e.err, e.texts)
		}
	}
	if c := s.conns.Load(); c < 3 {
		t.Errorf("%d connections: nobody left", c)
	}
}

// A connection that dies in the middle of its streams fails them all, and is made anew for the next ones.
func TestHTTP2Death(t *testing.T) {
	const slots = 6
	var asked atomic.Int64
	var s *counted
	s = startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token("a"))
		w.(http.Flusher).Flush()
		if n := asked.Add(1); n == slots {
			_ = (*s.last.Load()).Close()
		} else if n < slots {
			<-r.Context().Done()
		}
		_, _ = io.WriteString(w, done)
	})
	k, calls := open(t, newService(t, s.target), `{}`, slots)
	k.run(calls, 3*slots)
	for i, e := range k.ends {
		want := record.OK
		if i < slots {
			want = record.Transport
		}
		if e.rec.Class != want {
			t.Errorf("end %d: %s, %v", i, e.rec.Class, e.err)
		}
	}
}
