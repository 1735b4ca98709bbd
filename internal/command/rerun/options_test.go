package rerun

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandLine(t *testing.T) {
	stored := []string{"--model=m", "--header=A: ***", "--header=B: ***", "--url=http://***@h:1", "--streaming", "--json=one.json", "--quiet", "--system-prompt="}
	f := func(more, want string) {
		t.Helper()
		args, hidden := commandLine(stored, strings.Fields(more))
		if err := complete(hidden, strings.Fields(more)); err != nil {
			args = []string{err.Error()}
		}
		if d := cmp.Diff(want, strings.Join(args, " ")); d != "" {
			t.Errorf("%s: %s", more, d)
		}
	}
	f("-HA:x -H B:y -u h:1", "--model=m --streaming --system-prompt= -HA:x -H B:y -u h:1")
	f("--header=A:x --header B:y --url=h:1 --json two.json", "--model=m --streaming --system-prompt= --header=A:x --header B:y --url=h:1 --json two.json")
	f("-H A:x", "the result keeps no secrets: give --header=B: ***, --url=http://***@h:1 again")
}
