package load_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
)

// A look at a level in progress has each worker, and their requests together are those of the level.
func TestALookAtAFleetHasEachWorker(t *testing.T) {
	s := &server{first: 20 * time.Millisecond, gap: 5 * time.Millisecond, tokens: 6}
	cfg := config(t, s, -1)
	cfg.Open = numbered(1)
	cfg.Options.Requests = 200
	looks := 0
	cfg.Progress = func(p load.Progress) {
		if p.Workers == nil {
			return // the look of a worker's own engine
		}
		looks++
		var requests uint64
		for _, w := range p.Workers() {
			requests += w.Requests
		}
		lv := p.Live()
		if requests != p.Requests || len(lv.Workers) != 3 || lv.Workers[2].Name != "w2" {
			t.Errorf("%d requests of the workers, %d of the level; workers %+v", requests, p.Requests, lv.Workers)
		}
	}
	onFleet(t, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 6}, 3, nil)
	if looks < 2 {
		t.Errorf("%d looks", looks)
	}
}
