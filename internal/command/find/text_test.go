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
			c := find.Capacity{Outcome: o}
			if o == find.Found || o == find.AtLeast || o == find.AllHold {
				c.Value = 8
			}
			a.Capacities = append(a.Capacities, c)
		}
		if got := exitCode(&a); got != want {
			t.Errorf("%s, %v: exit code %d, want %d", state, outcomes, got, want)
		}
	}
	f(command.ExitOK, find.Complete, find.Found)
	f(command.ExitOK, find.Complete, find.Found, find.AllHold)
	f(command.ExitOK, find.OutOfTime, find.Found, find.AtLeast)
	f(command.ExitAssertion, find.Complete, find.Found, find.NoneHolds)
	f(command.ExitInvalid, find.Complete, find.NoneHolds, find.ClientLimit)
	f(command.ExitUnstable, find.OutOfTime, find.Found, find.Open)
	f(command.ExitError, find.Failed, find.Found)
	f(command.ExitInterrupted, find.Interrupted, find.Found)
	held := find.Answer{State: find.Complete, Capacities: []find.Capacity{{Outcome: find.ClientLimit, Value: 6.1}}}
	if got := exitCode(&held); got != command.ExitOK {
		t.Errorf("a load held below the limit of the client: exit code %d", got)
	}
}

// The answer in words: the load that held, how that is known, what fails above it; or why there is none and what to do.
func TestWordsOfAnAnswer(t *testing.T) {
	f := func(by string, a *result.FindAnswer, want ...string) {
		t.Helper()
		s := &session{opts: &options{by: by}}
		if got := strings.Join(s.words(a), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("got:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	}
	between, open := result.Interval{Low: 870, High: 910, Level: 0.95}, result.Interval{Low: 5.9, Open: true, Level: 0.95}
	held := &result.FindHeld{Seconds: 32, Requests: 338}
	f(byRate, &result.FindAnswer{Outcome: string(find.Found), Capacity: &result.Capacity{Value: 880}, Bracket: between, Held: held, Confirmed: true, FailsAt: 920, Binding: "p99<50ms", Knee: 700},
		"Capacity: 880 requests/s (held in 32.0 s, 338 requests); fails at 920: p99<50ms",
		"  with 95 % confidence between 870 and 910 requests/s",
		"  knee of the curve: 700 requests/s; above it, latency grows faster than the load")
	f(byRate, &result.FindAnswer{Outcome: string(find.Found), Capacity: &result.Capacity{Value: 10.7}, Bracket: between, Held: held, Unsure: "ttft.p95 needs 90 requests, this probe had 76", FailsAt: 21.35, Binding: find.BacklogGrew},
		"Capacity: at least 10.7 requests/s (held in 32.0 s, 338 requests; not sure: ttft.p95 needs 90 requests, this probe had 76); fails at 21.35: the backlog grew",
		"  with 95 % confidence between 870 and 910 requests/s")
	f(byUsers, &result.FindAnswer{Outcome: string(find.AllHold), Capacity: &result.Capacity{Value: 64}, Bracket: result.Interval{Low: 60, Open: true, Level: 0.95}, Held: held, Confirmed: true, Binding: "ttft.p99<1s"},
		"Capacity: at least 64 users (held in 32.0 s, 338 requests)",
		"  with 95 % confidence at least 60 users",
		"  this is the highest load; nearest to its limit is ttft.p99<1s; raise --highest to search above")
	f(byRate, &result.FindAnswer{Outcome: string(find.ClientLimit), Capacity: &result.Capacity{Value: 6.1}, Bracket: open, Held: held, ClientAt: 12.2},
		"Capacity: at least 6.1 requests/s (held in 32.0 s, 338 requests); the client was the limit at 12.2",
		"  with 95 % confidence at least 5.9 requests/s",
		"  above it the client is the limit: run the client on a machine of its own, or give it more CPU")
	f(byConcurrency, &result.FindAnswer{Outcome: string(find.NoneHolds), Binding: "p99<1us"},
		"No capacity: p99<1us does not hold even at the lowest load",
		"  allow more in --slo, or lower --lowest")
	f(byRate, &result.FindAnswer{Outcome: string(find.ClientLimit), ClientAt: 50},
		"No answer: the client reached its limit before the server did, at 50 requests/s",
		"  run the client on a machine of its own, or give it more CPU")
	f(byRate, &result.FindAnswer{Outcome: string(find.Open), FailsAt: 880},
		"No load held so far: the capacity is below 880 requests/s")
	f(byRate, &result.FindAnswer{Outcome: string(find.Open)}, "No load has ended so far, so nothing is known")
}

// Several tiers are a table with the most load of each.
func TestTableOfTiers(t *testing.T) {
	var out bytes.Buffer
	s := &session{IO: &command.IO{Stdout: &out}, opts: &options{by: byUsers}}
	s.tierTable([]result.FindAnswer{
		{Tier: "fast", Outcome: string(find.Found), Capacity: &result.Capacity{Value: 12}, Bracket: result.Interval{Low: 12, High: 14}, FailsAt: 14, Binding: "ttft.p95<1s", Objectives: []string{"ttft.p95<1s", "itl.p95<33ms"}},
		{Tier: "slow", Outcome: string(find.NoneHolds), Binding: "ttft.p95<1ms", Objectives: []string{"ttft.p95<1ms"}},
	})
	want := `tier  capacity    interval           fails above it      objectives
fast  12 users    between 12 and 14  at 14: ttft.p95<1s  ttft.p95<1s itl.p95<33ms
slow  none holds                                         ttft.p95<1ms
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
