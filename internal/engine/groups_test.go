package engine_test

import (
	"fmt"
	"testing"

	"github.com/redline-bench/redline/internal/engine"
)

// Numbers do not make a group of their own; beyond the bound a class has one group for the others.
func TestGroupsOfFailures(t *testing.T) {
	var g engine.Groups
	f := func(class, text string, want int, wantFresh, wantOthers bool) {
		t.Helper()
		if i, fresh, others := g.Of(class, text); i != want || fresh != wantFresh || others != wantOthers {
			t.Errorf("%s %q: group %d, new %t, of others %t", class, text, i, fresh, others)
		}
	}
	f("server", "request 17 failed", 0, true, false)
	f("server", "request 4 failed", 0, false, false)
	f("timeout", "request 4 failed", 1, true, false)
	for i := 2; i < engine.MostGroups; i++ {
		g.Of("server", fmt.Sprintf("%*s", i, "x"))
	}
	f("server", "a new text", engine.MostGroups, true, true)
	f("server", "another", engine.MostGroups, false, true)
	f("connect", "refused", engine.MostGroups+1, true, true)
	f("server", "request 1 failed", 0, false, false)
}
