package minstd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/minstd"
)

// The first numbers of rand() in a program that does not call srand, as the GNU library gives them; the low bytes are the
// ones that perf_analyzer's random data begins with.
func TestSameAsRand(t *testing.T) {
	r := minstd.NewRand(0)
	want := []int{1804289383, 846930886, 1681692777, 1714636915, 1957747793, 424238335, 719885386, 1649760492, 596516649, 1189641421}
	got := make([]int, len(want))
	for i := range got {
		got[i] = r.Next()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a, b := minstd.NewRand(7), minstd.NewRand(8); a.Next() == b.Next() {
		t.Error("two seeds give the same number")
	}
}
