package flags

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What perf_analyzer refuses, redline profile refuses in words of its own: no refusal that was recorded of perf_analyzer keeps the
// words of a program that failed.
func TestRewordings(t *testing.T) {
	recorded, err := os.ReadFile("testdata/original.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^  usage: (.*)$`).FindAllStringSubmatch(string(recorded), -1) {
		if n++; strings.HasPrefix(m[1], "Cannot use both ") {
			continue // the options are named where two load modes meet
		}
		if got := reworded(m[1]); strings.HasPrefix(got, "Failed to parse") || strings.HasSuffix(got, ".") {
			t.Errorf("%q becomes %q", m[1], got)
		}
	}
	if n < 100 {
		t.Errorf("%d refusals", n)
	}
}
