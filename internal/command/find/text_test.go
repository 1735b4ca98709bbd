package find

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/result"
)

// The exit code says how a search ended; that of the worst tier counts.
func TestExitCodes(t *testing.T) {
	f := func(want int, state find.State, outcomes ...find.Outcome) {
		t.Helper()
		a := find.Answer{State: state}
		for _, o := range outcomes {
			a.Capacities = append(a.Capacities, find.Capacity{Outcome: o})
		}
		if got := exitCode(&a); got != want {
			t.Errorf("%s, %v: exit code %d, want %d", state, outcomes, got, want)
		}
	}
	f(command.ExitOK, find.Complete, find.Found)
	f(command.ExitOK, find.Complete, find.Found, find.AllHold)
	f(command.ExitAssertion, find.Complete, find.Found, find.NoneHolds)
	f(command.ExitInvalid, find.Complete, find.NoneHolds, find.ClientLimit)
	f(command.ExitUnstable, find.OutOfTime, find.Open)
	f(command.ExitUnstable, find.Undecided, find.Open)
	f(command.ExitError, find.Failed, find.Open)
	f(command.ExitInterrupted, find.Interrupted, find.Open)
}

// The answer in words: the load with its interval and what limits it, or why there is none and what to do.
func TestWordsOfAnAnswer(t *testing.T) {
	f := func(by string, a *result.FindAnswer, want ...string) {
		t.Helper()
		s := &session{opts: &options{by: by}}
		if got := strings.Join(s.words(a), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	}
	between := result.Interval{Low: 880, High: 910}
	f(byRate, &result.FindAnswer{Outcome: string(find.Found), Capacity: &result.Capacity{Value: 880, Interval: between}, Confirmed: true, Binding: "p99<50ms", Knee: 700},
		"Capacity: 880 requests/s (between 880 and 910)",
		"  confirmed: the last run held every objective, and with the probes around it kept clear of the limits",
		"  objective that fails first above it: p99<50ms",
		"  knee of the curve: 700 requests/s; above it, latency grows faster than the load")
	f(byUsers, &result.FindAnswer{Outcome: string(find.AllHold), Capacity: &result.Capacity{Value: 64, Interval: result.Interval{Low: 64, Open: true}}, Binding: "ttft.p99<1s"},
		"Capacity: at least 64 users, the highest load: all objectives hold there",
		"  not confirmed: in the last run an objective was too near to its limit, or had too few requests to tell",
		"  nearest to its limit: ttft.p99<1s; raise --highest to search above")
	f(byConcurrency, &result.FindAnswer{Outcome: string(find.NoneHolds), Binding: "p99<1us"},
		"No capacity: p99<1us does not hold even at the lowest load",
		"  allow more in --slo, or lower --lowest")
	f(byRate, &result.FindAnswer{Outcome: string(find.ClientLimit), Bracket: result.Interval{Low: 500, Open: true}},
		"No capacity: the client reached its limit before the server did",
		"  the server holds the objectives up to at least 500 requests/s",
		"  use a faster client, or one on another machine")
	f(byRate, &result.FindAnswer{Outcome: string(find.Open), Bracket: between},
		"No capacity yet: it lies between 880 and 910 requests/s")
	f(byRate, &result.FindAnswer{Outcome: string(find.Open), Bracket: result.Interval{Open: true}},
		"No capacity yet: no load surely holds or fails the objectives so far")
}

// Several tiers are a table with the most load of each.
func TestTableOfTiers(t *testing.T) {
	var out bytes.Buffer
	s := &session{IO: &command.IO{Stdout: &out}, opts: &options{by: byUsers}}
	s.tierTable([]result.FindAnswer{
		{Tier: "fast", Outcome: string(find.Found), Capacity: &result.Capacity{Value: 12, Interval: result.Interval{Low: 12, High: 14}}, Binding: "ttft.p95<1s", Objectives: []string{"ttft.p95<1s", "itl.p95<33ms"}},
		{Tier: "slow", Outcome: string(find.NoneHolds), Binding: "ttft.p95<1ms", Objectives: []string{"ttft.p95<1ms"}},
	})
	want := `tier  capacity    interval           fails first   objectives
fast  12 users    between 12 and 14  ttft.p95<1s   ttft.p95<1s itl.p95<33ms
slow  none holds                     ttft.p95<1ms  ttft.p95<1ms
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
