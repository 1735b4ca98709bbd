package traceid_test

import (
	"math"
	"regexp"
	"testing"

	"github.com/redline-bench/redline/internal/traceid"
)

// The asked share of the requests is chosen, each by the same name every time, and no two names are equal.
func TestPick(t *testing.T) {
	const n = 200_000
	for _, share := range []float64{0.01, 0.5, 1} {
		s := traceid.New(share, 42)
		seen := map[traceid.ID]bool{}
		for i := range int64(n) {
			slot, sent := uint32(i%16), 1_000_000_000+i/16*1000
			id, ok := s.Pick(slot, sent)
			if again, still := s.Pick(slot, sent); again != id || still != ok {
				t.Fatal("the choice changed")
			}
			if ok {
				seen[id] = true
			}
		}
		if got := float64(len(seen)) / n; math.Abs(got-share) > 5*math.Sqrt(share*(1-share)/n)+1e-9 {
			t.Errorf("%v of the requests are traced, want %v", got, share)
		}
	}
}

func TestNothingIsPicked(t *testing.T) {
	for _, s := range []*traceid.Sampler{nil, traceid.New(0, 1), traceid.New(math.NaN(), 1)} {
		if _, ok := s.Pick(1, 1); ok {
			t.Error("a request is traced")
		}
	}
}

func TestParent(t *testing.T) {
	id, _ := traceid.New(1, 7).Pick(3, 5)
	text := string(id.AppendParent(nil))
	if !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(text) || len(text) != traceid.ParentSize {
		t.Errorf("traceparent is %q", text)
	}
	if other, _ := traceid.New(1, 8).Pick(3, 5); other == id {
		t.Error("another run has the same names")
	}
}

// Loads that run beside each other name their requests differently, even those with the same slot and send time.
func TestLoadsBesideEachOther(t *testing.T) {
	s := traceid.New(1, 7)
	a, _ := s.Of("chat").Pick(3, 99)
	b, _ := s.Of("images").Pick(3, 99)
	if c, _ := s.Of("").Pick(3, 99); a == b || a == c || b == c {
		t.Errorf("%v, %v and %v", a, b, c)
	}
	if traceid.New(0, 7).Of("chat") != nil {
		t.Error("a share of 0 traces requests")
	}
}

// A request that is sent after the last time carries no name, as in a warm-up. The span of a request is named by Pick alone.
func TestUntil(t *testing.T) {
	s := traceid.New(1, 7)
	f := func(last, sent int64, want bool) {
		t.Helper()
		s.Until(last)
		id, ok := s.Send(3, sent)
		if picked, _ := s.Pick(3, sent); ok != want || ok && id != picked {
			t.Errorf("until %d, sent at %d: %v, want %v", last, sent, ok, want)
		}
	}
	if _, ok := s.Send(3, 5); !ok {
		t.Error("a new sampler chooses no request")
	}
	if _, ok := s.Of("class").Send(3, 5); !ok {
		t.Error("the sampler of a class chooses no request")
	}
	f(traceid.Never, 5, false)
	f(5, 5, true)
	f(5, 6, false)
	f(traceid.Always, 6, true)
	var none *traceid.Sampler
	none.Until(traceid.Always)
	if _, ok := none.Send(1, 1); ok {
		t.Error("a request is traced")
	}
}
