package llm_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/e2e/stated"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The stated error of the times of tokens is compared with the log of the server that was measured, token by token.
func TestTimedStatedError(t *testing.T) {
	for _, streams := range []int{1, 8, 64, 512} {
		t.Run(strconv.Itoa(streams), func(t *testing.T) {
			if streams == 1 || streams == 64 {
				outcome.HeavyOnly(t, "the stated error of tokens, with 1 and 64 streams")
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			disturbance.Try(t, func() error { return statesTruth(t, streams) })
		})
	}
}

// statesTruth measures once. An error is a statement that misses its tolerance.
func statesTruth(t *testing.T, streams int) error {
	t.Helper()
	r := serve(t, "--ttft", "100ms", "--itl", "20ms", "--request-log", "log.jsonl")
	n := max(16, 4*streams)
	art := filepath.Join(r.dir, "art")
	res, _ := r.measure(t, "HTTP/1.1", n, "--concurrency", strconv.Itoa(streams), "--calibrate", "--artifact-dir", art, "--exports", "records")
	said := res.Levels[0].Health.Error
	if said == nil || said.Tokens == nil {
		return fmt.Errorf("no error of tokens is stated: %+v", said) // the calibration did not end in time
	}
	actual := tokenErrors(t, filepath.Join(art, "profile_export.jsonl"), filepath.Join(r.dir, "log.jsonl"))
	if len(actual) != n*truthTokens {
		t.Fatalf("%d tokens were compared, want %d", len(actual), n*truthTokens)
	}
	return stated.Holds(t, said, actual, streams) // all streams begin at once
}

// tokenErrors are the times at which tokens came by the client's records minus those at which they left by the server's log.
func tokenErrors(t *testing.T, file, log string) []int64 {
	t.Helper()
	each, _ := calibrate.TokenErrors(pairs(t, file, readLog(t, log, 0)))
	return each
}
