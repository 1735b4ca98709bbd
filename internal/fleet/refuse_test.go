package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
)

// A NATS server that takes no more records, as one without space, is named by the worker and in the reason for its loss.
func TestNATSThatTakesNoRecords(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	refused := make(chan string, 1)
	c.start(t, h.NATS(), "a", func(w *fleet.Worker) {
		w.Say = func(format string, args ...any) {
			if text := fmt.Sprintf(format, args...); strings.Contains(text, "NATS does not take") {
				refused <- text
			}
		}
	})
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "full", "1", testPlan(nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer run.End(context.Background())
	nc, err := nats.Connect(h.NATS().URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "redline_records_full")
	if err != nil {
		t.Fatal(err)
	}
	limited := stream.CachedInfo().Config
	limited.MaxMsgs, limited.Discard = 1, jetstream.DiscardNew // the stream takes no message beside the first one
	if _, err := js.UpdateStream(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	if text := <-refused; text != "run full: NATS does not take the records: maximum messages exceeded; requests wait until it does" {
		t.Errorf("the worker says %q", text)
	}
	<-run.Failed()
	const lost = "all workers are lost; the last was a: "
	switch err := run.Broken(); {
	case err == nil || !strings.HasPrefix(err.Error(), lost):
		t.Errorf("the run ended with: %v", err)
	case strings.HasPrefix(err.Error(), lost+"it sent nothing"):
		t.Log("the worker did not answer in time why it sends nothing: the machine is busy")
	case err.Error() != lost+"NATS does not take its records: maximum messages exceeded":
		t.Errorf("the run ended with: %v", err)
	}
}

// A coordinator beside its NATS server needs no TLS for itself. A worker that is connected without TLS gets no secret.
func TestAWorkerWithoutTLSGetsNoSecret(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	c.start(t, h.NATS(), "a", nil)
	own := h.NATS()
	bus, err := fleet.DialLocal(t.Context(), h, &own, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	p := testPlan(func(p *plan.Plan) { p.Target.Headers = []plan.Header{{Name: "Authorization", Value: "Bearer hush"}} })
	run, err := fleet.Gather(t.Context(), bus, config(c, "plain", "1", p))
	defer run.End(context.Background())
	if want := "worker a is connected to NATS without TLS, so it is sent no secret (-H Authorization): start it with tls:// in --nats"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
	if len(c.plans) > 0 {
		t.Error("the worker has a plan")
	}
}
