package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
)

const (
	outage   = 1200 * time.Millisecond
	lastGood = 40 // the inference after whose arrival the server dies
	rate     = 40
	due      = 160
)

// TestOutage lets the server die in mid-run, every connection included, and come back. The requests of that time fail as
// connect or transport, the later ones succeed, and the verdict names the server, not the client.
func TestOutage(t *testing.T) {
	t.Parallel()
	var tasks []pool.Task
	for _, c := range commands(t) {
		for _, w := range c.wires {
			tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name, Run: func(t *testing.T) {
				s := newFront(t, w, fault{})
				down := make(chan struct{})
				s.before = func(n int) {
					if n == lastGood {
						s.down()
						close(down)
					}
				}
				s.wg.Go(func() {
					select {
					case <-down:
						time.Sleep(outage) // the time that it is away
						s.up()
					case <-t.Context().Done():
					}
				})
				c.outage(t, s, w)
			}})
		}
	}
	pool.Run(t, workers, tasks)
}

// outage loads a server that goes away and comes back.
func (c command) outage(t *testing.T, s *front, w wire) {
	t.Helper()
	e := load(t, s, c, w, c.openLoop(due, rate)...)
	if e.code != 99 {
		t.Errorf("exit code %d, want 99:\n%s", e.code, e.text)
	}
	if !c.report() {
		return // it ended at the first failure
	}
	byClass, texts := e.failures()
	failed := byClass["connect"] + byClass["transport"]
	if got := e.succeeded(); failed == 0 || got+failed != due || len(byClass) > 2 {
		t.Errorf("%d of %d requests succeeded, failures %v:\n%s\n%s", got, due, byClass, texts, e.text)
	}
	if asked, _ := s.counts(); asked <= lastGood {
		t.Errorf("%d requests reached the server: none after it came back", asked)
	}
	if e.Verdict.State != result.ServerFailed || !strings.Contains(e.text, "the first ") {
		t.Errorf("verdict %q, want %q with the time of the outage:\n%s", e.Verdict.State, result.ServerFailed, e.text)
	}
}
