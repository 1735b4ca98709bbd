package pool

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Tasks that need the same thing run in their order and never at once; the others run beside them.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	var order []string
	var users atomic.Int32
	both := make(chan struct{})
	alone := func(t *testing.T) {
		if users.Add(1) != 1 {
			t.Error("two tasks use the same thing at once")
		}
		mu.Lock()
		order = append(order, t.Name())
		mu.Unlock()
		users.Add(-1)
	}
	Run(t, 3, []Task{
		{Name: "a", Needs: []string{"x"}, Run: func(t *testing.T) {
			alone(t)
			both <- struct{}{} // another worker must be at task c for this to go on
		}},
		{Name: "b", Needs: []string{"x", "y"}, Run: alone},
		{Name: "c", Run: func(*testing.T) { <-both }},
		{Name: "d", Needs: []string{"y"}, Run: func(*testing.T) {}},
		{Name: "e", Needs: []string{"x"}, Run: alone},
	})
	if d := cmp.Diff([]string{"TestRun/a", "TestRun/b", "TestRun/e"}, order); d != "" {
		t.Error(d)
	}
}
