package tune

import (
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/result"
)

// A candidate of which the client was the limit may hold the objectives, so that a search without a best one is not judged.
func TestExitCodeOfAClientLimit(t *testing.T) {
	client := result.TuneCandidate{LimitedBy: "client"}
	f := func(name string, want int, tune result.Tune) {
		t.Helper()
		tune.State = complete
		if got := (&session{}).exitCode(&tune); got != want {
			t.Errorf("%s: exit code %d, not %d", name, got, want)
		}
	}
	f("best", command.ExitOK, result.Tune{Best: &result.TuneCandidate{}, Candidates: []result.TuneCandidate{{}, client}})
	f("best at the client's limit", command.ExitInvalid, result.Tune{Best: &client, Candidates: []result.TuneCandidate{{}, client}})
	f("none", command.ExitAssertion, result.Tune{Candidates: []result.TuneCandidate{{}, {}}})
	f("none, one at the client's limit", command.ExitInvalid, result.Tune{Candidates: []result.TuneCandidate{{}, client}})
}
