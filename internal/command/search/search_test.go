package search_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/option"
)

// What a result keeps of a command line reads back: the options of the search, and those of the traffic with all of their values.
func TestStoredReadsBack(t *testing.T) {
	read := func(args []string) (slo string, rest []string) {
		t.Helper()
		table := &option.Table{Rows: []option.Row{{Long: "slo", Arg: "RULE", To: option.Text(&slo)}}}
		rest, err := search.Read(table, args)
		if err != nil {
			t.Fatal(err)
		}
		return slo, rest
	}
	stored := search.Stored([]string{"--slo=p99<5ms", "-H=a: b=c", "--streaming", "--shape=IN:3"})
	slo, rest := read(stored)
	if diff := cmp.Diff([]string{"-H", "a: b=c", "--streaming", "--shape=IN:3"}, rest); diff != "" || slo != "p99<5ms" {
		t.Errorf("%s\n%s", slo, diff)
	}
	if _, err := search.Read(&option.Table{Rows: []option.Row{{Long: "slo", Arg: "RULE", To: option.Ignore()}}}, []string{"--slo"}); err == nil || !strings.Contains(err.Error(), "--slo") {
		t.Errorf("an option without its value: %v", err)
	}
}
