package rest

import (
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/traceid"
)

// The requests that the sampler chooses have its traceparent, and no others have one. The rest of the request is as before.
func TestChosenRequestsHaveATraceparent(t *testing.T) {
	var mu sync.Mutex
	got := map[string]bool{}
	srv := serve(t, func(r *seen) []byte {
		if _, rest, ok := strings.Cut(r.head, "traceparent: "); ok {
			mu.Lock()
			got[strings.SplitN(rest, "\r\n", 2)[0]] = true
			mu.Unlock()
		}
		return simple(r)
	})
	to := target(srv.addr)
	to.Tracing = traceid.New(0.3, 5)
	k, calls := open(t, newService(t, to, plan.Input{}), simpleInputs(), 4)
	k.run(calls, 400)
	want := 0
	for _, e := range k.ends {
		if e.class != record.OK {
			t.Fatalf("%+v", e)
		}
		if id, ok := to.Tracing.Pick(uint32(e.slot), e.rec.Sent); ok {
			want++
			if parent := string(id.AppendParent(nil)); !got[parent] {
				t.Fatalf("the server did not get %s", parent)
			}
		}
	}
	if want == 0 || want == 400 || len(got) != want {
		t.Errorf("%d requests had a traceparent, want %d", len(got), want)
	}
}
