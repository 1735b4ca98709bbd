package fleet_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
)

// The classes of a scenario run at the same time on the same workers. Each load has exactly its own requests, and begins at the common time.
func TestClassesShareTheWorkers(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, nil)
	}
	counts := []int{90, 60}
	var loads []fleet.Work
	for i, n := range counts {
		loads = append(loads, fleet.Work{Class: []string{"chat", "images"}[i], Command: "profile", Plan: testPlan(func(p *plan.Plan) {
			p.Load.Concurrency = plan.IntRange{Start: 3, End: 3, Step: 1}
			p.Measure.RequestCount = n
		})})
	}
	conf := config(c, "scenario", "2", nil)
	conf.Command = "run"
	runs, err := fleet.GatherAll(t.Context(), dial(t, h.NATS()), conf, loads)
	if err != nil {
		t.Fatal(err)
	}
	if err := tooFew(t, h.NATS(), config(c, "other", "1", testPlan(nil))); err == nil || !strings.Contains(err.Error(), "works for run scenario") {
		t.Errorf("another run got a worker: %v", err)
	}
	at := clock.Now() + int64(time.Second)
	first := make([]int64, len(runs))
	results := make([]*result.Result, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		run.StartAt(at)
		all.Go(func() {
			var err error
			if results[i], err = measure(t, run, loads[i].Plan, func(r *record.Record) {
				if first[i] == 0 || r.Sent < first[i] {
					first[i] = r.Sent
				}
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, res := range results {
		if lv := res.Levels[0]; int(lv.Client.Requests) != counts[i] || len(lv.Workers) != 2 || lv.Workers[0].Requests == 0 || lv.Workers[1].Requests == 0 {
			t.Errorf("class %s: %d requests, workers %+v", loads[i].Class, lv.Client.Requests, lv.Workers)
		}
		if early := time.Duration(at - first[i]); early > time.Duration(res.Fleet.ClockErrorNs) {
			t.Errorf("class %s began %s before its time", loads[i].Class, early)
		}
	}
	if n := len(c.ended); n != counts[0]+counts[1] {
		t.Errorf("the services saw %d requests", n)
	}
	var records uint64
	for _, m := range runs[0].Result().Members {
		records += m.Records
	}
	if records != uint64(counts[0]+counts[1]) {
		t.Errorf("%d records came from the workers", records)
	}
	runs[0].End(t.Context())
	for _, line := range []string{"run scenario, class chat: joined as worker 1 of 2", "run scenario, class images: joined as worker 2 of 2", "run scenario, class images: left: the run is over"} {
		if !strings.Contains(c.text(), line) {
			t.Errorf("no line %q in\n%s", line, c.text())
		}
	}
	conf = config(c, "scenario", "2", testPlan(nil))
	run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), conf)
	if err != nil {
		t.Fatalf("the workers and the name are not free: %v", err)
	}
	run.End(t.Context())
}

// tooFew is why a run finds too few workers. It asks again where no worker answered in time.
func tooFew(t *testing.T, n plan.NATS, conf fleet.Config) error {
	t.Helper()
	bus := dial(t, n)
	conf.Fleet.Wait = 100 * time.Millisecond
	for end := time.Now().Add(testkit.Limit); ; {
		run, err := fleet.Gather(t.Context(), bus, conf)
		if run != nil {
			run.End(t.Context())
		}
		if err == nil || strings.Contains(err.Error(), "; worker ") || time.Now().After(end) {
			return err
		}
	}
}

// Two runs at the same time have different workers, and each has its own requests alone.
func TestTwoRunsDoNotMeet(t *testing.T) {
	t.Parallel()
	h := startHub(t, anyPort, nil)
	c := &crew{}
	for _, name := range []string{"a", "b"} {
		c.start(t, h.NATS(), name, nil)
	}
	var all sync.WaitGroup
	members := make([]string, 2)
	for i, n := range []int{40, 70} {
		p := testPlan(func(p *plan.Plan) { p.Measure.RequestCount = n })
		run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), config(c, []string{"day", "night"}[i], "1", p))
		if err != nil {
			t.Fatal(err)
		}
		defer run.End(t.Context())
		all.Go(func() {
			res, err := measure(t, run, p, nil)
			if err != nil || int(res.Levels[0].Client.Requests) != n {
				t.Errorf("%d requests instead of %d: %v", res.Levels[0].Client.Requests, n, err)
			}
			members[i] = res.Fleet.Members[0].Name
		})
	}
	all.Wait()
	if members[0] == members[1] {
		t.Errorf("both runs have worker %s", members[0])
	}
}
