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
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// holder is a client that is held up while it handles the first event of a stream.
type holder struct {
	held   chan struct{} // the client is held from here
	writes *testkit.Writes
	size   int           // of the second event
	write  testkit.Write // that of the second event
	ended  chan struct{}
	at     []int64
	until  int64 // when the client went on
	rec    record.Record
}

const heldFor = 20 * time.Millisecond

func (h *holder) Response(_ *service.Call, _ []byte, at int64, _ bool) {
	if h.at = append(h.at, at); len(h.at) == 1 {
		from := h.writes.Total()
		h.held <- struct{}{}
		h.write = h.writes.Await(from + h.size)
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
	testkit.KernelStamps(t)
	for _, secure := range []bool{false, true} {
		for _, version := range []string{"1.1", "2"} {
			t.Run(fmt.Sprintf("HTTP/%s tls %v", version, secure), func(t *testing.T) {
				disturbance.Try(t, func() error { return heldUp(t, secure, version) })
			})
		}
	}
}

// heldUp tells what is wrong with the second event's time.
func heldUp(t *testing.T, secure bool, version string) error {
	t.Helper()
	second := token("b") + done
	h := &holder{held: make(chan struct{}), size: len(second), ended: make(chan struct{})}
	s := startHTTP2(t, secure, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token("a"))
		w.(http.Flusher).Flush()
		<-h.held
		_, _ = io.WriteString(w, second)
		w.(http.Flusher).Flush()
	})
	h.writes = s.writes
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
	if h.rec.Class != record.OK || len(h.at) != 3 || h.rec.End != h.at[1] || h.at[1] < h.write.Begun {
		t.Fatalf("%+v, events at %d, the second was written at %d", h.rec, h.at, h.write.Begun)
	}
	const tolerance = int64(time.Millisecond)
	if over := h.at[1] - h.write.Ended; over > tolerance || h.rec.Late < h.until-h.write.Ended-tolerance {
		return fmt.Errorf("the event came %d us after it was written, the read lag is %d us of %d", over/1000, h.rec.Late/1000, (h.until-h.write.Ended)/1000)
	}
	return nil
}
