package budget_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/budget"
)

const mib = 1 << 20

// Small buffers are free; larger ones share the budget, and what is released can be held again.
func TestSharesOfOneBudget(t *testing.T) {
	b := budget.New(4*mib, 0)
	small, x, y := b.Share(), b.Share(), b.Share()
	f := func(s *budget.Share, n int64, want bool) {
		t.Helper()
		if got := s.Hold(n); got != want {
			t.Errorf("%d bytes: %v", n, got)
		}
	}
	f(&small, 64<<10, true)
	f(&x, 3*mib, true)
	f(&y, 2*mib, false)
	f(&y, mib, true)
	f(&x, 3*mib+1, false)
	if !x.Spare() || small.Spare() || !strings.Contains(x.Over(), "4194304 bytes") {
		t.Errorf("spare %v and %v; %s", x.Spare(), small.Spare(), x.Over())
	}
	x.Release()
	f(&y, 4*mib, true)
	b.Requests(8) // nothing for each request: the budget stays
	f(&x, mib, false)
}

func TestABudgetGrowsWithTheRequestsInFlight(t *testing.T) {
	b := budget.New(mib, mib)
	s := b.Share()
	if s.Hold(3 * mib) {
		t.Error("3 MiB of 1 MiB")
	}
	b.Requests(3)
	b.Requests(2) // slots stay
	if !s.Hold(3 * mib) {
		t.Error("no 3 MiB for three requests")
	}
	var none budget.Share
	if !none.Hold(1<<40) || none.Spare() {
		t.Error("a share of nothing has a limit")
	}
}

// Whatever shares do at the same time, they never hold more than the budget, and all of it is free in the end.
func TestConcurrentSharesKeepTheBudget(t *testing.T) {
	testkit.Rounds(t, 5, func(t *testing.T, rng *rand.Rand) {
		const most = 64 * mib
		b := budget.New(most, 0)
		var all sync.WaitGroup
		for range 8 {
			seed := rng.Uint64()
			all.Go(func() {
				s, own := b.Share(), rand.New(rand.NewPCG(seed, 0))
				for range 2000 {
					s.Hold(own.Int64N(20 * mib))
				}
				s.Release()
			})
		}
		all.Wait()
		last := b.Share()
		if !last.Hold(most) {
			t.Error("something is still held")
		}
		other := b.Share()
		if other.Hold(128 << 10) {
			t.Error("more than the budget")
		}
	})
}
