package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const (
	outage = 600 * time.Millisecond
	dying  = 15 // the inference at whose arrival the server dies
	rate   = 30
	due    = 90 // one failure is more than the 1 % that a valid run may have

	// latest is how long after the start of the command the server must be back. The load lasts three seconds, so some requests are due later.
	latest = 2500 * time.Millisecond
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
				down, back := make(chan struct{}), make(chan time.Time, 1)
				s.before = func(n int) {
					if n == dying {
						s.down() // before it is answered: this request fails, however busy the machine is
						close(down)
					}
				}
				s.wg.Go(func() {
					select {
					case <-down:
						time.Sleep(outage) // the time that it is away
						s.up()
						back <- time.Now()
					case <-t.Context().Done():
					}
				})
				c.outage(t, s, w, back)
			}})
		}
	}
	pool.Run(t, workers, tasks)
}

// outage loads a server that goes away and comes back.
func (c command) outage(t *testing.T, s *front, w wire, back <-chan time.Time) {
	t.Helper()
	begun := time.Now()
	e := load(t, s, c, w, c.openLoop(due, rate)...)
	if asked, _ := s.counts(); asked < dying {
		t.Fatalf("%d requests reached the server:\n%s", asked, e.text)
	}
	if c.report() {
		if late := (<-back).Sub(begun); late > latest {
			outcome.Inconclusive(t, "the server was back only "+late.String()+" after the start of the command")
		}
	}
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
	if asked, _ := s.counts(); asked <= dying {
		t.Errorf("%d requests reached the server: none after it came back", asked)
	}
	if v := e.Verdict; v.State != result.ServerFailed || len(v.Reasons) == 0 || !strings.Contains(v.Reasons[0].What, "the first ") {
		t.Errorf("verdict %v, want %q with the time of the outage:\n%s", v, result.ServerFailed, e.text)
	}
}
