package faults

import (
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/pool"
)

// moreGoroutines is how many more goroutines there may be after fifty faults than after two: a timer or a dial may be
// under way.
const moreGoroutines = 4

// TestGoroutines counts the goroutines of the program after the second and after the fiftieth fault: none may be left of
// a connection that has gone. The Go runtime prints all of them at SIGQUIT.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	var tasks []pool.Task
	for _, c := range commands(t) {
		if !c.report() {
			continue
		}
		for _, w := range c.wires {
			tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name, Run: func(t *testing.T) {
				f := closesInMidBody()
				few, many := goroutines(t, c, w, f, 2), goroutines(t, c, w, f, 50)
				t.Logf("%d goroutines after 2 faults, %d after 50", few, many)
				if many > few+moreGoroutines {
					t.Errorf("%d goroutines after 2 faults, %d after 50", few, many)
				}
			}})
		}
	}
	pool.Run(t, workers, tasks)
}

var (
	goroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)
	// ofRuntime are goroutines that the Go runtime starts for itself: at the first garbage collection one for each core.
	ofRuntime = regexp.MustCompile(`(?m)^created by runtime\.`)
)

// goroutines is how many the program has when the n-th fault is due.
func goroutines(t *testing.T, c command, w wire, f fault, n int) int {
	t.Helper()
	s := newFront(t, w, f)
	s.before = func(asked int) {
		if asked == 3*n {
			_ = syscall.Kill(s.pid, syscall.SIGQUIT)
		}
	}
	cmd, out := start(t, s, w, slices.Concat(c.args, w.args, c.closedLoop(400))...)
	_ = cmd.Wait()
	text := out.String()
	got := len(goroutine.FindAllString(text, -1)) - len(ofRuntime.FindAllString(text, -1))
	if got <= 0 {
		t.Fatalf("no goroutines were printed:\n%s", out)
	}
	return got
}
