package calibrate_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
)

func TestErrorsAreTheClientsTimeMinusTheServers(t *testing.T) {
	client := []calibrate.Exchange{{ID: 2, From: 1000, To: 1150}, {ID: 1, From: 1010, To: 1120}, {ID: 9, From: 5000, To: 5001}}
	server := []calibrate.Exchange{{ID: 5, From: 3, To: 9}, {ID: 1, From: 1030, To: 1110}, {ID: 2, From: 1005, To: 1145}}
	f := func(named bool, want []int64) {
		t.Helper()
		if d := cmp.Diff(want, calibrate.Errors(client, server, named)); d != "" {
			t.Error(d)
		}
	}
	// Requests 9 and 5 are known to one side only.
	f(true, []int64{10, 30})
	// Without ids the order of the ends decides; the server cannot have received a request before it was sent.
	f(false, []int64{30, 10})
}

func TestTokenTimesAreComparedWithTheLog(t *testing.T) {
	type stream = calibrate.Stream
	f := func(seen, written []stream, errors []int64, means calibrate.Tokens) {
		t.Helper()
		pairs, err := calibrate.PairStreams(seen, written)
		if err != nil {
			t.Fatal(err)
		}
		each, got := calibrate.TokenErrors(pairs)
		if d := cmp.Diff(errors, each) + cmp.Diff(means, got); d != "" {
			t.Error(d)
		}
	}
	named := []stream{{ID: "x", At: []int64{110, 215, 330}}, {ID: "y", At: []int64{120}}}
	f(named, []stream{{ID: "cut", At: []int64{1}}, {ID: "y", At: []int64{90, 95}}, {ID: "x", At: []int64{100, 210, 300}}},
		[]int64{10, 5, 30, 30}, calibrate.Tokens{TTFTNs: 20, ITLNs: 10})
	// Without ids the first tokens tell which responses belong together. The error has a sign.
	f([]stream{{At: []int64{205, 303}}, {At: []int64{103, 199}}}, []stream{{ID: "1", At: []int64{100, 200, 300}}, {ID: "2", At: []int64{200, 300, 400}}},
		[]int64{3, -1, 5, 3}, calibrate.Tokens{TTFTNs: 4, ITLNs: -3})
	for _, written := range [][]stream{{{At: []int64{1}}}, {{At: []int64{1}}, {At: []int64{2}}}} {
		if _, err := calibrate.PairStreams([]stream{{At: []int64{1, 2}}, {At: []int64{3, 4}}}, written); err == nil {
			t.Errorf("%v: no error", written)
		}
	}
}

// p99 is stated as a bound: in 95 % of calibrations it is not below the true p99, however long they are.
func TestTheStatedP99IsNotTooSmall(t *testing.T) {
	const trials, truth = 2000, 990_000
	for _, n := range []int{300, 1000} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		held, errors := 0, make([]int64, n)
		for range trials {
			for i := range errors {
				errors[i] = rng.Int64N(1_000_000)
			}
			s := calibrate.Summarize(errors)
			if s.AtLeast {
				t.Fatalf("%d requests are enough for a bound", n)
			}
			if s.P99Ns >= truth {
				held++
			}
		}
		if share := float64(held) / trials; share < 0.94 { // a simulation of 2,000 trials is off by 1 % at most
			t.Errorf("of %d requests the stated p99 is large enough in %.1f %% of calibrations, want 95 %%", n, 100*share)
		}
	}
}

func TestAShortCalibrationStatesTheLargestErrorSeen(t *testing.T) {
	errors := make([]int64, 298)
	for i := range errors {
		errors[i] = int64(297 - i)
	}
	f := func(errors []int64, want calibrate.Summary) {
		t.Helper()
		if d := cmp.Diff(want, calibrate.Summarize(slices.Clone(errors))); d != "" {
			t.Error(d)
		}
	}
	f(errors, calibrate.Summary{P50Ns: 149, P99Ns: 297, AtLeast: true})
	f(append(errors, 298), calibrate.Summary{P50Ns: 149, P99Ns: 298})
	f([]int64{-5}, calibrate.Summary{P50Ns: -5, P99Ns: -5, AtLeast: true})
	f(nil, calibrate.Summary{AtLeast: true})
}
