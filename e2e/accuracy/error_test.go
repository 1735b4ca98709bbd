package accuracy

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/stated"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The stated measurement error is compared with the log of the server that was measured, request by request. The server has
// the times of a model, which back-to-back requests to a server that does nothing do not show.
func TestTimedStatedError(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		for _, c := range []struct {
			concurrency int
			delay       time.Duration
		}{{1, 20 * time.Millisecond}, {8, 20 * time.Millisecond}, {64, 20 * time.Millisecond}, {512, 200 * time.Millisecond}} {
			t.Run(fmt.Sprintf("%s/%d", protocol, c.concurrency), func(t *testing.T) {
				if c.concurrency == 1 || c.concurrency == 64 {
					outcome.HeavyOnly(t, "the stated error of latencies, with 1 and 64 in flight")
				}
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
				disturbance.Try(t, func() error { return statesTruth(t, protocol, c.concurrency, c.delay) })
			})
		}
	}
}

// The same for loads that have neither a concurrency nor a rate: a recorded schedule, and conversations with pauses.
func TestTimedStatedErrorOfASchedule(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	disturbance.Try(t, func() error {
		return statesTruthOfData(t, schedule(500), true, []string{"--delay", "simple=20ms"}, func(s *binary.Server) []string {
			// With one source of requests the id of each is its number in the schedule.
			return []string{"-m", "simple", "-u", s.HTTP, "-a", "--fixed-schedule", "--max-threads", "1"}
		})
	})
}

func TestTimedStatedErrorOfSessions(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	disturbance.Try(t, func() error {
		return statesTruthOfData(t, sessions(24, 16), false, []string{"--ttft", "20ms", "--itl", "0s"}, func(s *binary.Server) []string {
			return []string{"-m", "m", "--service-kind", "openai", "-u", s.Ports["openai"], "-a", "--endpoint", "v1/chat/completions", "--session-concurrency", "8"}
		})
	})
}

// schedule is input data with so many requests, about a hundred a second, at uneven times.
func schedule(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := strings.Repeat("1,", 15) + "1"
	var steps []string
	at := 0.0
	for range n {
		at += 10 * rng.ExpFloat64()
		steps = append(steps, fmt.Sprintf(`{"INPUT0":[%s],"INPUT1":[%s],"timestamp":[%d]}`, numbers, numbers, int(at)))
	}
	return `{"data":[` + strings.Join(steps, ",") + `]}`
}

// sessions is input data with so many conversations of so many turns, with pauses of 20 ms.
func sessions(n, turns int) string {
	var steps []string
	for turn := range turns {
		for s := range n {
			steps = append(steps, fmt.Sprintf(`{"payload":[{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"turn %d"}]}],"session_id":["s%d"],"delay":[20]}`, turn, s))
		}
	}
	return `{"data":[` + strings.Join(steps, ",") + `]}`
}

// statesTruthOfData is statesTruth for the requests of input data. The server's log has the number of each as its id, where
// named is set, or only the order of their ends.
func statesTruthOfData(t *testing.T, data string, named bool, serve []string, args func(*binary.Server) []string) error {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("data.json"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := load(t, dir, append(serve, "--request-log", file("log")), func(s *binary.Server) []string {
		return append(args(s), "--input-data", file("data.json"), "--calibrate", "--json", file("result.json"), "--records", file("records.csv"))
	}); err != nil {
		return err
	}
	var res result.Result
	readJSON(t, file("result.json"), &res)
	served, _ := calibrate.Exchanges(readLog(t, file("log")))
	var client []calibrate.Exchange
	for _, r := range readRecords(t, file("records.csv")) {
		client = append(client, calibrate.Exchange{ID: uint64(r.step), From: r.wall, To: r.wall + r.latency})
	}
	actual := calibrate.Errors(client, served, named)
	if len(client) != len(served) {
		t.Fatalf("%d requests were measured, %d are in the server's log", len(client), len(served))
	}
	if len(actual)*100 < len(client)*95 { // their order tells little where the server's threads had to wait
		return fmt.Errorf("%d of %d requests were found in the server's log", len(actual), len(client))
	}
	return stated.Holds(t, res.Levels[0].Health.Error, actual, 1)
}

// statesTruth measures once. A wrong count or a statement of other traffic fails the test; an error is a statement that
// misses its tolerance.
func statesTruth(t *testing.T, protocol string, concurrency int, delay time.Duration) error {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	// Asynchronous calls carry ids, by which the two sides of a request are found. Without pauses all responses come at once, and on
	// few cores chance decides how long they wait for each other.
	pause := delay / 2
	if err := profile(t, dir, protocol, []string{"--delay", "simple=" + delay.String(), "--request-log", file("log")},
		"-a", "--concurrency-range", strconv.Itoa(concurrency), "--think-time", fmt.Sprintf("%v±%v", pause, pause), "-p", "800", "-r", "3", "-s", "99999", "--calibrate",
		"--json", file("result.json"), "--records", file("records.csv")); err != nil {
		return err
	}
	var res result.Result
	readJSON(t, file("result.json"), &res)
	actual := errorsByLog(t, file("records.csv"), file("log"), concurrency)
	// A request takes one and a half times the delay with its pause, so a delay of some milliseconds touches fewer than an eighth of those in flight.
	return stated.Holds(t, res.Levels[0].Health.Error, actual, max(1, concurrency/8))
}

// errorsByLog are the latencies of the records minus the times of the log, of all windows but the first. The id of a request
// is its slot and its number on it.
func errorsByLog(t *testing.T, records, log string, concurrency int) []int64 {
	t.Helper()
	served, named := calibrate.Exchanges(readLog(t, log))
	if !named {
		t.Fatal("requests in the server's log have no ids")
	}
	const counterBits = 48
	sent := make([]uint64, concurrency)
	var client []calibrate.Exchange
	rows := readRecords(t, records)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.sent, b.sent) })
	for _, r := range rows {
		id := uint64(r.slot)<<counterBits + sent[r.slot]
		sent[r.slot]++
		if r.window > 0 {
			client = append(client, calibrate.Exchange{ID: id, From: r.sent, To: r.sent + r.latency})
		}
	}
	actual := calibrate.Errors(client, served, true)
	if len(actual) != len(client) || len(actual) == 0 {
		t.Fatalf("%d requests were measured, %d of them are in the server's log", len(client), len(actual))
	}
	return actual
}
