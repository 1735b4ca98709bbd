package minstd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/minstd"
)

// The standard says what the ten-thousandth number of the generator is; which of two or three a number means was
// seen in what perf_analyzer sends.
func TestSameAsCpp(t *testing.T) {
	s := minstd.New(0)
	for range 10000 {
		s.Below(1)
	}
	if s != 1043618065 {
		t.Errorf("the 10000th number is %d", s)
	}
	f := func(n int, want ...int) {
		t.Helper()
		s := minstd.New(0)
		got := make([]int, len(want))
		for i := range got {
			got[i] = s.Below(n)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	f(1, 0, 0, 0)
	f(2, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 0)
	f(3, 0, 0, 2, 1, 1, 0, 0, 2, 2, 2)
}

func TestSeeds(t *testing.T) {
	a, b, c := minstd.New(7), minstd.New(7), minstd.New(8)
	same, other := 0, 0
	for range 100 {
		x := a.Below(10)
		if x == b.Below(10) {
			same++
		}
		if x == c.Below(10) {
			other++
		}
	}
	if same != 100 || other > 50 {
		t.Errorf("%d of the same seed, %d of another agree", same, other)
	}
}
