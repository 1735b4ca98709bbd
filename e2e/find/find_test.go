// Package find_test holds redline find to a sweep by hand on a real Triton, and to queues of known law on the reference server.
// Both measure for minutes, so they belong to `make test-heavy`. `make test` runs the same searches in simulated time
// (internal/command/find, internal/find) and the command line in e2e/testdata/script/find.txtar.
package find_test

import (
	"fmt"
	"math"
	"os"
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

// On a real Triton, a model of 20 ms with dynamic batching: the highest rate of a sweep with p99 below the limit agrees with the
// search beside it.
func TestAgreesWithASweepOnTriton(t *testing.T) {
	outcome.HeavyOnly(t, "redline find beside a sweep on a real Triton")
	installed, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "redline find on a real Triton", err, "python3 with venv")
	}
	k := peers.Keep(t, func() (*peers.Triton, error) { return installed.StartTriton(t.Context(), t.TempDir()) })
	const limit, step = 150.0, 20.0 // ms, requests/s
	traffic := []string{"-m", "slow", "-u", k.Triton().GRPC, "-i", "grpc", "--shape", "INPUT0:16"}
	disturbance.Try(t, func() error {
		found, err := capacity(t, append(traffic, "--slo", fmt.Sprintf("p99<%gms", limit))...)
		if err != nil {
			return err
		}
		sweep, err := run(t, append([]string{"profile"}, append(traffic, "--async", "--request-distribution", "poisson",
			"--request-rate-range", fmt.Sprintf("100:400:%g", step), "-p", "10000", "-r", "3", "-s", "1000")...)...)
		if err != nil {
			return err
		}
		best := 0.0
		for _, lv := range sweep.Levels {
			if float64(lv.Client.Latency.At(99))/1e6 >= limit || lv.ClientLimited {
				break
			}
			best = lv.Rate
		}
		if math.Abs(found.Value-best-step/2) > step/2+0.05*best {
			return fmt.Errorf("the search found %.1f requests/s, the sweep %.0f to %.0f", found.Value, best, best+step)
		}
		return nil
	})
}

// queue writes a model repository with a queue: one worker, 10 ms.
func queue(t *testing.T, parameters string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "queue", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := `name: "queue"
backend: "delay"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: 1 kind: KIND_CPU } ]
parameters [ { key: "execute_delay_ms" value: { string_value: "10" } }, { key: "gapless" value: { string_value: "true" } }` + parameters + " ]\n"
	if err := os.WriteFile(filepath.Join(dir, "queue", "config.pbtxt"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// On the reference server with a queue of known law the search finds its capacity to 5 %.
func TestFindsTheCapacityOfAQueue(t *testing.T) {
	outcome.HeavyOnly(t, "redline find on queues of known law, in real time")
	f := func(name, rule string, truth float64, parameters string) {
		t.Run(name, func(t *testing.T) {
			s, err := binary.StartServer(t.TempDir(), bin, "--model-repository", queue(t, parameters))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			disturbance.Try(t, func() error {
				found, err := capacity(t, "-m", "queue", "-u", s.Address("grpc"), "-i", "grpc", "--slo", rule, "--probe-max", "60s")
				if err == nil && math.Abs(found.Value/truth-1) > 0.05 {
					err = fmt.Errorf("found %.1f requests/s, the capacity is %.1f", found.Value, truth)
				}
				return err
			})
		})
	}
	// Pollaczek and Khinchin: the mean time in the system of M/G/1 is S + λ·E[S²]/(2(1-λS)); solved for λ at 40 ms and 100 ms.
	f("M/D/1", "avg<40ms", 600.0/7, "")
	f("M/M/1", "avg<100ms", 90, `, { key: "delay_distribution" value: { string_value: "exponential" } }`)
}
