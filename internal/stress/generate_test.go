package stress

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The expected numbers are numpy's: RandomState(42).randint(2**32), and the draws of RandomState(123456789).
func TestTwisterDrawsAsNumpy(t *testing.T) {
	r := newTwister(42)
	if diff := cmp.Diff([]uint32{1608637542, 3421126067, 4083286876}, []uint32{r.uint32(), r.uint32(), r.uint32()}); diff != "" {
		t.Error(diff)
	}
	r = newTwister(123456789)
	floats := []float64{r.float(), r.float()}
	for range 5 {
		floats = append(floats, r.normal(16, 8))
	}
	var ints []uint32
	for range 4 {
		ints = append(ints, r.below(1<<20))
	}
	for range 6 {
		ints = append(ints, r.below(1000))
	}
	floats = append(floats, r.float(), r.normal(16, 8), r.normal(16, 8))
	for range 4999 {
		r.float()
	}
	floats = append(floats, r.float())
	if diff := cmp.Diff([]uint32{1024338, 428004, 816251, 190687, 620, 469, 107, 113, 179, 362}, ints); diff != "" {
		t.Error(diff)
	}
	want := []float64{
		0.532833024789759, 0.5341366008904166, 30.733691236598666, 16.65905983611249, 22.871709436516824, 9.391868582932581,
		25.258164148714776, 0.2308096154813184, 27.00732110260647, 20.237531366546513, 0.6918278083323192,
	}
	if diff := cmp.Diff(want, floats); diff != "" {
		t.Error(diff)
	}
}

// A seed gives the same patterns, lengths and correlation ids, in each thread, as in Triton's stress test.
func TestPatternsAreTheOriginals(t *testing.T) {
	f, err := os.Open("testdata/seed42.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if !strings.HasPrefix(scan.Text(), "#") {
			want = append(want, scan.Text())
		}
	}
	o := Defaults()
	o.Seed = 42
	var got []string
	requests := 0
	for thread := range o.Threads {
		for _, p := range passes(o, thread, 40) {
			line := fmt.Sprintf("%d %d %s", thread, o.ID(p.Thread, p.Context), p.Pattern)
			for _, n := range p.Lengths {
				line += fmt.Sprintf(" %d", n)
			}
			got = append(got, line)
			if p.Pattern != NoStart {
				requests += p.Lengths[len(p.Lengths)-1]
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Triton's stress test sends only the second sequence of a pair; its server counted so many inferences.
	if requests != 5054 {
		t.Errorf("the last sequences hold %d requests, Triton's stress test sent 5054", requests)
	}
}

func TestStepsOfAPattern(t *testing.T) {
	o := Defaults()
	seen := map[Pattern]bool{}
	o.Weights[Idle] = 10
	for thread := range 4 {
		for _, p := range passes(o, thread, 400) {
			seen[p.Pattern] = true
			starts, ends, refused := 0, 0, 0
			for i, s := range p.Steps {
				if s.Value < 0 || s.Value >= 1<<20 {
					t.Fatalf("value %d", s.Value)
				}
				if s.Start != (s.Position == 0 && !s.Refused) {
					t.Fatalf("%s: step %d: %+v", p.Pattern, i, s)
				}
				starts, ends, refused = starts+count(s.Start), ends+count(s.End), refused+count(s.Refused)
			}
			want := map[Pattern][3]int{
				NoStart: {0, 0, 1}, NoEnd: {1, 0, 0}, ValidNoEnd: {2, 1, 0}, ValidValid: {2, 2, 0}, Valid: {1, 1, 0}, Idle: {1, 0, 1},
			}[p.Pattern]
			if got := [3]int{starts, ends, refused}; got != want {
				t.Fatalf("%s: starts, ends, refused %v, want %v", p.Pattern, got, want)
			}
		}
	}
	if len(seen) != int(numPatterns) {
		t.Errorf("only %v were drawn", seen)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A missing START never follows a sequence that the server may still hold.
func TestNoStartNeedsAnEnd(t *testing.T) {
	o := Defaults()
	o.Weights = Weights{NoStart: 50, NoEnd: 25, ValidNoEnd: 15, Valid: 10}
	o.RareWeights = o.Weights
	for thread := range 4 {
		last := map[int]Pattern{}
		for _, p := range passes(o, thread, 500) {
			if l, ok := last[p.Context]; ok && p.Pattern == NoStart && l.leavesOpen() {
				t.Fatalf("%s follows %s", p.Pattern, l)
			}
			last[p.Context] = p.Pattern
		}
	}
}

func TestWeights(t *testing.T) {
	f := func(text, want, fault string) {
		t.Helper()
		w, err := ParseWeights(text)
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: %v, want %q", text, err, fault)
			}
			return
		}
		if err != nil || w.String() != want {
			t.Errorf("%s: %s, %v, want %s", text, w, err, want)
		}
	}
	f("valid=1", "valid=1", "")
	f("no-start=1, valid = 2.5,idle=3", "valid=2.5,no-start=1,idle=3", "")
	f(Defaults().Weights.String(), "valid=85,valid-valid=5,valid-no-end=5,no-end=4,no-start=1", "")
	f("no-start=1", "", "needs a weight for a pattern with a START")
	f("valid", "", "is a list such as valid=85")
	f("valide=3", "", "is a list such as")
	f("valid=NaN", "", "is a list such as")
	f("", "", "is a list such as")
}

// passes draws the first n passes of a thread.
func passes(o *Plan, thread, n int) []*Pass {
	threads := *o
	threads.Threads = thread + 1
	g := newGenerator(o, thread, Seeds(&threads)[thread])
	out := make([]*Pass, n)
	for i := range out {
		out[i] = g.pass()
	}
	return out
}
