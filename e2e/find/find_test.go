// Package find_test holds redline find to a sweep by hand on a real Triton, and to queues of known law on the reference server.
// Both measure for minutes, so they belong to `make test-heavy`. `make test` runs the same searches in simulated time
// (internal/command/find, internal/find) and the command line in the scripts find*.txtar of e2e/testdata/script.
package find_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// run runs a command with --json and reads its result. It returns an error if the command does not end with exit code 0.
func run(t *testing.T, args ...string) (*result.Result, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append(args, "--json", file, "--no-history")...).CombinedOutput()
	t.Logf("redline %v\n%s", args, out)
	if err != nil {
		return nil, err
	}
	return binary.Result(t, file), nil
}

// capacity is the answer of a search.
func capacity(t *testing.T, args ...string) (*result.Capacity, error) {
	t.Helper()
	res, err := run(t, append([]string{"find", "profile"}, args...)...)
	if err != nil {
		return nil, err
	}
	if res.Find.Capacity == nil || res.Find.LimitedBy != "server" {
		return nil, fmt.Errorf("outcome %q, limited by %q", res.Find.Outcome, res.Find.LimitedBy)
	}
	return res.Find.Capacity, nil
}

// On a real Triton, a model of 20 ms with dynamic batching: the highest rate of a sweep by hand with p99 below the limit agrees with the
// search before it. The sweep begins well below the answer of the search. It sends few requests, and so it runs beside the searches on queues.
func TestTimedAgreesWithASweepOnTriton(t *testing.T) {
	outcome.HeavyOnly(t, "redline find beside a sweep on a real Triton")
	t.Parallel()
	installed, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "redline find on a real Triton", err, "python3 with venv")
	}
	k := peers.Keep(t, func() (*peers.Triton, error) { return installed.StartTriton(t.Context(), t.TempDir()) })
	const step = 20.0 // requests/s
	traffic := []string{"-m", "slow", "-u", k.Triton().GRPC, "-i", "grpc", "--shape", "INPUT0:16"}
	disturbance.Try(t, func() error {
		found, err := capacity(t, append(traffic, "--slo", fmt.Sprintf("p99<%gms", limit), "--probe-max", "15s", "--confirm", "30s")...)
		if err != nil {
			return err
		}
		best, err := sweep(t, traffic, step*math.Floor(0.75*found.Value/step), step)
		if err != nil {
			return err
		}
		t.Logf("the search found %.1f requests/s (%.1f to %.1f), the sweep %.0f to %.0f", found.Value, found.Low, found.High, best, best+step)
		if math.Abs(found.Value-best-step/2) > step/2+0.05*best {
			return fmt.Errorf("the search found %.1f requests/s, the sweep %.0f to %.0f", found.Value, best, best+step)
		}
		return nil
	})
}

// limit of p99 in ms.
const limit = 150.0

// sweep sends one rate after the other until p99 is above the limit twice in a row: once may be a moment in which the machine stood
// still. It returns the last rate before.
func sweep(t *testing.T, traffic []string, first, step float64) (best float64, err error) {
	t.Helper()
	for rate, misses := first, 0; misses < 2; rate += step {
		res, err := run(t, append([]string{
			"profile", "--async", "--request-distribution", "poisson", "--request-rate-range", fmt.Sprint(rate), "-p", "5000", "-r", "3", "-s", "1000",
		}, traffic...)...)
		if err != nil {
			return 0, err
		}
		misses++
		if lv := &res.Levels[0]; float64(lv.Client.Latency.At(99))/1e6 < limit && !lv.ClientLimited {
			best, misses = rate, 0
		}
	}
	return best, nil
}
