// Package scenario_test runs scenario files against the reference server and holds them to that server's own log.
package scenario_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// bin is the folder with redline.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// server is a reference server with a log of its requests.
type server struct {
	*binary.Server
	log    calibrate.Log
	logged int                // requests in the log
	seen   map[string][]int64 // when the server received the requests of each model
}

func serve(t *testing.T) *server {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log.jsonl")
	s := binary.Served(t, bin, "--request-log", log)
	return &server{Server: s, log: calibrate.Log{Path: log}, seen: map[string][]int64{}}
}

// arrivals are the times at which the server received the requests of each model, in ascending order. It waits until the log has
// want requests.
func (s *server) arrivals(t *testing.T, want int) map[string][]int64 {
	t.Helper()
	for deadline := time.Now().Add(testkit.Limit); ; time.Sleep(10 * time.Millisecond) {
		list, err := s.log.Read()
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			s.seen[list[i].Model] = append(s.seen[list[i].Model], list[i].Received)
		}
		if s.logged += len(list); s.logged >= want || time.Now().After(deadline) {
			break
		}
	}
	for _, list := range s.seen {
		slices.Sort(list)
	}
	return s.seen
}

// here puts the ports of the server into a scenario for the usual ones.
func (s *server) here(text string) string {
	return strings.NewReplacer("localhost:8000", s.HTTP, "localhost:8001", s.GRPC, "localhost:9000", s.Ports["openai"]).Replace(text)
}

// run runs a scenario in the top folder of the source tree and returns its result. The gate may miss a rule or judge nothing: other
// work on the machine can cause both.
func run(t *testing.T, text string) *result.Result {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, "scenario.yaml"), filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), "run", file, "--json", out)
	cmd.Dir = binary.Root()
	said, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() != 4 && exit.ExitCode() != 5 {
		t.Fatalf("exit code %d: %s", exit.ExitCode(), said)
	}
	t.Logf("%s", said)
	return binary.Result(t, out)
}

// level is the only level of a class.
func level(t *testing.T, res *result.Result, class string) *result.Level {
	t.Helper()
	i := slices.IndexFunc(res.Levels, func(lv result.Level) bool { return lv.Class == class })
	if i < 0 {
		t.Fatalf("no level of class %s", class)
	}
	return &res.Levels[i]
}

const three = `
arrivals: constant
stages:
  - {rate: 100, for: 1s}
  - {from: 100, to: 300, for: 2s}
  - {rate: 600, for: 500ms}
classes:
  chat: {weight: 1, llm: {model: chat-model, url: localhost:9000, streaming: true, synthetic-input-tokens-mean: 20, output-tokens-mean: 2, warmup-request-count: 3}}
  http: {weight: 3, profile: {model: simple, url: localhost:8000}}
  grpc: {rate: 160, duration: 3s, profile: {model: custom_identity_int32, url: localhost:8001, protocol: grpc, shape: "INPUT0:4"}}
`

// The server's log has the requests of each class that the file asks for: a quarter of 100 + 400 + 300, the rest of those, and 480. The rate of
// each class, by that log, is the file's to 0.5 %.
func TestThreeClassesAsTheServerSawThem(t *testing.T) {
	s := serve(t)
	parse := func(text string) []pace.Stage {
		list, err := pace.ParseStages(text)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	classes := []struct {
		name, log  string // log: its name in the log
		warm, want int
		stages     []pace.Stage
	}{
		{"chat", "/v1/chat/completions", 3, 200, parse("25:1s,25-75:2s,150:500ms")},
		{"http", "simple", 0, 600, parse("75:1s,75-225:2s,450:500ms")},
		{"grpc", "custom_identity_int32", 0, 480, parse("160:3s")},
	}
	before := map[string]int{}
	total := 0
	disturbance.Try(t, func() error {
		res := run(t, s.here(three)) // a busy machine changes no count
		for _, c := range classes {
			total += c.want + c.warm
		}
		seen := s.arrivals(t, total)
		var whole uint64
		var late error
		for _, c := range classes {
			list := seen[c.log][before[c.log]:]
			before[c.log] = len(seen[c.log])
			lv := level(t, res, c.name)
			whole += lv.Client.Requests
			if n := len(list) - c.warm; math.Abs(float64(n-c.want)) > 0.005*float64(c.want) || lv.Client.Requests != uint64(n) || lv.Client.Failed != 0 {
				t.Fatalf("class %s: the server logged %d requests, the result has %d and %d failed, the file asks for %d", c.name, n, lv.Client.Requests, lv.Client.Failed, c.want)
			}
			if rate := pace.StagesRate(c.stages); math.Abs(lv.Health.AskedRate-rate) > 0.005*rate {
				t.Errorf("class %s: the result asks for %g requests/s, the file for %g", c.name, lv.Health.AskedRate, rate)
			}
			if err := keepsPace(c.name, list[c.warm:], c.stages); err != nil {
				late = err
			}
		}
		if res.Whole == nil || res.Whole.Client.Requests != whole || len(res.Classes) != len(classes) {
			t.Errorf("the whole has %+v, the classes together %d requests", res.Whole, whole)
		}
		return late
	})
}

// keepsPace compares the time between the first and the last arrival with that of the schedule.
func keepsPace(name string, arrivals []int64, stages []pace.Stage) error {
	schedule := pace.Stages(stages, nil)
	first, _ := schedule.Next()
	last := first
	for range len(arrivals) - 1 {
		at, ok := schedule.Next()
		if !ok {
			break
		}
		last = at
	}
	want, got := last-first, time.Duration(arrivals[len(arrivals)-1]-arrivals[0])
	if math.Abs(float64(got-want)) > 0.005*float64(want) {
		return fmt.Errorf("class %s: the server received its requests within %s, the schedule has %s", name, got, want)
	}
	return nil
}

// Every example runs against `redline serve` as it is, and does what its comment says.
func TestExamples(t *testing.T) {
	s := serve(t)
	f := func(file string, check func(t *testing.T, res *result.Result)) {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(binary.Root(), "examples", file))
			if err != nil {
				t.Fatal(err)
			}
			res := run(t, s.here(string(text)))
			for i := range res.Levels {
				if lv := &res.Levels[i]; lv.Client.Failed > 0 || lv.Client.Requests == 0 {
					t.Errorf("%s: %d requests, %d failed: %v", lv.Class, lv.Client.Requests, lv.Client.Failed, lv.Failures)
				}
			}
			check(t, res)
		})
	}
	// near: Poisson arrivals of a mean of n are within five standard deviations.
	near := func(t *testing.T, res *result.Result, class string, n float64) {
		t.Helper()
		if got := float64(level(t, res, class).Client.Requests); math.Abs(got-n) > 5*math.Sqrt(n) {
			t.Errorf("class %s: %g requests, about %g are due", class, got, n)
		}
	}
	f("triton-morning.yaml", func(t *testing.T, res *result.Result) { near(t, res, "images", 20+60+50+75+50) })
	f("chat-embeddings-rerank.yaml", func(t *testing.T, res *result.Result) {
		near(t, res, "chat", 100.0/8)
		near(t, res, "embeddings", 100.0/2)
		near(t, res, "rerank", 100.0*3/8)
	})
	f("ab.yaml", func(t *testing.T, res *result.Result) {
		near(t, res, "old", 360)
		near(t, res, "new", 40)
		if v := res.Classes[1].Plan.Target.Version; v != "3" {
			t.Errorf("the new version is %q", v)
		}
	})
	f("trace-and-background.yaml", func(t *testing.T, res *result.Result) {
		if n := level(t, res, "replay").Client.Requests; n != 40 {
			t.Errorf("%d of 40 requests of the trace", n)
		}
		near(t, res, "background", 150)
	})
}
