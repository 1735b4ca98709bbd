package fleet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// looker is told how a level goes on.
type looker struct {
	observer
	look func(profile.Progress)
}

func (l looker) Progress(p profile.Progress) { l.look(p) }

// A look at a level in progress has each worker; their requests together are those of the level, in the windows that are over and in the one in
// progress.
func TestALookHasEachWorker(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{answer: func(int64) (time.Duration, error) { return 5 * time.Millisecond, nil }}
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, nil)
	}
	p := testPlan(func(p *plan.Plan) {
		p.Load.Concurrency = plan.IntRange{Start: 4, End: 4, Step: 1}
		p.Measure.Interval = 600 * time.Millisecond
	})
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, "looks", "2", p))
	if err != nil {
		t.Fatal(err)
	}
	defer run.End(t.Context())
	later := 0 // looks in windows after the first
	r := &profile.Runner{
		Plan: p, Service: &testkit.Service{}, Model: &service.Model{Name: "fake"}, Async: true, Fleet: run.Open, Ended: run.Ended, Timeline: true,
		Observer: looker{look: func(p profile.Progress) {
			lv := p.Live()
			var requests uint64
			for _, w := range lv.Workers {
				requests += w.Requests
			}
			if len(lv.Workers) != 2 || lv.Workers[0].Name != "a" || lv.Workers[1].Name != "b" || requests != lv.Client.Requests {
				t.Errorf("%d requests in the level, workers %+v", lv.Client.Requests, lv.Workers)
			}
			if len(lv.Windows) > 0 {
				later++
			}
		}},
	}
	if _, err := r.Run(t.Context(), t.Context()); err != nil && !errors.Is(err, profile.ErrUnstable) {
		t.Fatal(err)
	}
	if later == 0 {
		outcome.Inconclusive(t, "windows were over before they could be looked at")
	}
}
