package segment_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/segment"
)

func TestShare(t *testing.T) {
	f := func(n, of int, want ...int) {
		t.Helper()
		got := make([]int, of)
		for i := range got {
			got[i] = segment.Segment{Index: i, Of: of}.Share(n)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d over %d: %s", n, of, diff)
		}
	}
	f(10, 3, 4, 3, 3)
	f(9, 3, 3, 3, 3)
	f(2, 3, 1, 1, 0)
	f(0, 2, 0, 0)
	f(7, 1, 7)
	if got := (segment.Segment{}).Share(7); got != 7 {
		t.Errorf("the whole has %d of 7", got)
	}
}

// Every number of a row belongs to one segment, whatever the number of segments and lanes; all parts together are the row.
func TestUnionIsTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		of, lanes, n := 1+rng.IntN(16), 1+rng.IntN(40), rng.IntN(300)
		var all []int
		sum, among := 0, rng.IntN(2)*rng.IntN(20)
		for i := range of {
			d := segment.Segment{Index: i, Of: of}.Among(among).Over(lanes)
			count := d.Count(n)
			sum += count
			if d.Idle() {
				if count != 0 {
					t.Fatalf("segment %v of %d lanes is idle and has %d of %d", d.Segment, lanes, count, n)
				}
				continue
			}
			for j := range count {
				all = append(all, d.Number(j))
			}
			if next := d.Number(count); next < n {
				t.Fatalf("segment %v of %d lanes: number %d is not among the %d of the first %d", d.Segment, lanes, next, count, n)
			}
		}
		slices.Sort(all)
		for k, v := range all {
			if k != v {
				t.Fatalf("%d segments, %d lanes: number %d is missing or there twice", of, lanes, min(k, v))
			}
		}
		if sum != n {
			t.Fatalf("%d segments, %d lanes: %d of %d are given out", of, lanes, sum, n)
		}
	}
}

// Blocks follow one another, and have the lengths of shares.
func TestBlocks(t *testing.T) {
	for _, n := range []uint64{0, 1, 5, 16, 17, 1 << 40, 1<<64 - 1} {
		for of := 1; of <= 16; of++ {
			next := uint64(0)
			for i := range of {
				s := segment.Segment{Index: i, Of: of}
				first, count := s.Block(n)
				if first != next {
					t.Fatalf("%d over %v begins at %d, not at %d", n, s, first, next)
				}
				if n < 1<<62 && count != uint64(s.Share(int(n))) {
					t.Fatalf("%d over %v: %d, not %d", n, s, count, s.Share(int(n)))
				}
				next += count
			}
			if next != n {
				t.Fatalf("the blocks of %d end at %d", n, next)
			}
		}
	}
}

// The shares of a rate add up exactly: they are fractions with one denominator.
func TestRates(t *testing.T) {
	for of := 1; of <= 16; of++ {
		for lanes := 1; lanes <= 33; lanes++ {
			sum := 0
			for i := range of {
				sum += segment.Segment{Index: i, Of: of}.Over(lanes).Own()
			}
			if sum != lanes {
				t.Fatalf("%d segments have %d of %d lanes", of, sum, lanes)
			}
		}
	}
	if got := (segment.Segment{Index: 1, Of: 4}).Even().Rate(10); got != 2.5 {
		t.Errorf("a quarter of 10 is %g", got)
	}
	if got := (segment.Segment{Index: 3, Of: 4}).Among(3).Even().Rate(10); got != 0 {
		t.Errorf("the fourth of three has a rate of %g", got)
	}
}

func TestSeeds(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range 1000 {
		seen[segment.Segment{Index: i, Of: 1000}.Seed(7)] = true
	}
	if len(seen) != 1000 || !seen[7] {
		t.Errorf("%d different seeds of 1000; the first has that of the plan: %v", len(seen), seen[7])
	}
	if (segment.Segment{}).Seed(7) != 7 {
		t.Error("the whole has another seed than the plan")
	}
}

func TestText(t *testing.T) {
	f := func(text string, want segment.Segment, ok bool) {
		t.Helper()
		got, err := segment.Parse(text)
		if got != want || (err == nil) != ok {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	f("2/5", segment.Segment{Index: 1, Of: 5}, true)
	f("1/1", segment.Segment{Of: 1}, true)
	for _, bad := range []string{"", "2", "0/5", "6/5", "a/5", "2/b", "-1/2", "1/1000001", "1/2/3"} {
		f(bad, segment.Segment{}, false)
	}
	type doc struct {
		Segment segment.Segment `json:"segment,omitzero"`
	}
	for _, s := range []segment.Segment{{}, {Index: 1, Of: 5}} {
		text, err := json.Marshal(doc{s})
		var back doc
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || back.Segment != s {
			t.Errorf("%+v became %s and %+v, %v", s, text, back.Segment, err)
		}
	}
}
