package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// holder is a client that is held up while it handles the first event of a stream.
type holder struct {
	held    chan struct{} // the client is held from here
	written chan struct{} // the server has written the second event
	ended   chan struct{}
	at      []int64
	until   int64 // when the client went on
	rec     record.Record
}

const heldFor = 50 * time.Millisecond

func (h *holder) Response(_ *service.Call, _ []byte, at int64, _ bool) {
	if h.at = append(h.at, at); len(h.at) == 1 {
		h.held <- struct{}{}
		<-h.written
		time.Sleep(heldFor)
		h.until = clock.Now()
	}
}

func (h *holder) Done(c *service.Call) {
	h.rec = c.Rec
	close(h.ended)
}

// An event that came while the client was held up has the time of its arrival, over each version of HTTP.
func TestEventsHaveTheTimeOfTheirArrival(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, version := range []string{"1.1", "2"} {
			t.Run(fmt.Sprintf("HTTP/%s tls %v", version, secure), func(t *testing.T) {
				// The kernel begins to note arrivals a moment after it was asked for the first time, and a busy machine
				// may be slow to write; with the time of the read no attempt can succeed.
				var got string
				for range 10 {
					if got = heldUp(t, secure, version); got == "" {
						return
					}
				}
				t.Error(got)
			})
		}
	}
}

// heldUp tells what is wrong with the second event's time.
func heldUp(t *testing.T, secure bool, version string) string {
	t.Helper()
	h := &holder{held: make(chan struct{}), written: make(chan struct{}), ended: make(chan struct{})}
	s := startHTTP2(t, secure, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token("a"))
		w.(http.Flusher).Flush()
		<-h.held
		_, _ = io.WriteString(w, token("b")+done)
		w.(http.Flusher).Flush()
		h.written <- struct{}{}
	})
	s.target.HTTPVersion = version
	svc := newService(t, s.target)
	tr, err := svc.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if err := tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	req, err := svc.Prepare(inputs(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	tr.Send(&service.Call{Req: req})
	tr.Flush()
	<-h.ended
	if h.rec.Class != record.OK || len(h.at) != 3 {
		t.Fatalf("%+v, %d events", h.rec, len(h.at))
	}
	if spare := h.until - h.at[1]; spare < int64(heldFor)/2 || h.rec.Late < int64(heldFor)/2 || h.rec.End != h.at[1] {
		return fmt.Sprintf("the event came %d us before it could be read, the read lag is %d us", spare/1000, h.rec.Late/1000)
	}
	return ""
}
