package calibrate_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
)

func TestTheServersLogIsRead(t *testing.T) {
	const text = `{"model":"m","id":"7","received_ns":100,"replied_ns":120}
{"model":"m","id":"8","received_ns":200,"replied_ns":290,"events_ns":[210,240]}
`
	f := func(text string, want []calibrate.Exchange, wantNamed bool) {
		t.Helper()
		got, named, err := calibrate.ReadLog(strings.NewReader(text))
		if d := cmp.Diff(want, got); d != "" || named != wantNamed || err != nil {
			t.Error(d, named, err)
		}
	}
	f(text, []calibrate.Exchange{{ID: 7, From: 100, To: 120}, {ID: 8, From: 200, To: 240}}, true)
	f(`{"model":"m","id":"","received_ns":1,"replied_ns":2}`, []calibrate.Exchange{{From: 1, To: 2}}, false)
	if _, _, err := calibrate.ReadLog(strings.NewReader("nonsense")); err == nil || !strings.Contains(err.Error(), "the server's log") {
		t.Error(err)
	}
}

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
