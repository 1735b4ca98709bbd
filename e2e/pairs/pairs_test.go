// Package pairs compares real runs of the reference server: equal ones, which must raise no more alarms than promised, and
// ones of a server that is 5 % slower, which must be found.
package pairs

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// pairs is how many comparisons are made of each kind.
const pairs = 30

// mostAlarms is what 5 % of 30 exceed by chance in fewer than one of fifty tests.
const mostAlarms = 4

// bench runs the program under test in one folder.
type bench struct {
	*testing.T
	program, dir string
	runs         int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	bin, err := binary.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{T: t, program: filepath.Join(bin, "redline"), dir: dir}
}

func (b *bench) serve(options ...string) *binary.Server {
	b.Helper()
	s, err := binary.Serve(b.dir, slices.Concat([]string{b.program, "serve"}, options)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Stop)
	return s
}

// measure makes a run and returns its result file.
func (b *bench) measure(args ...string) string {
	b.Helper()
	b.runs++
	file := filepath.Join(b.dir, fmt.Sprintf("%d.json", b.runs))
	if out, err := exec.Command(b.program, append(args, "--json", file)...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
	return file
}

// finding is what redline compare says of two runs, and the rows that say it.
func (b *bench) finding(before, after string) (finding, rows string) {
	b.Helper()
	out, err := exec.Command(b.program, "compare", before, after, "--format", "json").Output()
	if err != nil {
		b.Fatalf("compare: %v\n%s", err, out)
	}
	var rep struct {
		Finding string
		Rows    []struct {
			Name, Finding     string
			Change, Low, High float64
		}
	}
	if err := json.Unmarshal(out, &rep); err != nil {
		b.Fatal(err)
	}
	for _, r := range rep.Rows {
		if r.Finding == rep.Finding {
			rows += fmt.Sprintf(" %s %+.1f %% (%+.1f to %+.1f)", r.Name, 100*r.Change, 100*r.Low, 100*r.High)
		}
	}
	return rep.Finding, rows
}

// hold compares runs of A with runs of B in pairs that follow each other, and with runs of a slower server.
func (b *bench) hold(a, same, slower func() string) error {
	b.Helper()
	count := map[string]int{}
	found := 0
	for range pairs {
		first, second, third := a(), same(), slower()
		equal, rows := b.finding(first, second)
		count[equal]++
		if equal == "better" || equal == "worse" {
			b.Logf("equal runs: %s:%s", equal, rows)
		}
		if f, _ := b.finding(second, third); f == "worse" {
			found++
		}
	}
	b.Logf("of %d pairs of equal runs: %v; %d of %d slower ones found", pairs, count, found, pairs)
	if alarms := count["better"] + count["worse"]; alarms > mostAlarms {
		return fmt.Errorf("%d of %d pairs of equal runs raise an alarm", alarms, pairs)
	}
	if found*10 < pairs*9 {
		return fmt.Errorf("%d of %d runs of a slower server were found", found, pairs)
	}
	return nil
}

// Short runs of a model that takes 40 ms, and of one that takes 42 ms.
func TestTimedPairsOfProfiles(t *testing.T) {
	outcome.HeavyOnly(t, "30 pairs of real runs, three minutes")
	b := newBench(t)
	server, slow := b.serve("--delay", "simple=40ms"), b.serve("--delay", "simple=42ms")
	profile := func(s *binary.Server) func() string {
		return func() string {
			return b.measure("profile", "-m", "simple", "-u", s.HTTP, "--concurrency-range", "8", "-p", "400", "-r", "3", "-s", "99999", "--no-history")
		}
	}
	disturbance.Try(t, func() error { return b.hold(profile(server), profile(server), profile(slow)) })
}

// Runs of a language model with 120 requests, whose first tokens vary as real ones do. The slower one takes half as long
// again: 5 % cannot be seen in 120 such requests.
func TestTimedPairsOfLanguageModels(t *testing.T) {
	outcome.HeavyOnly(t, "30 pairs of real runs of a language model, three minutes")
	b := newBench(t)
	tokens := func(ttft, itl, seed string) *binary.Server {
		return b.serve("--ttft", ttft, "--ttft-stddev", "10ms", "--itl", itl, "--token-distribution", "lognormal", "--seed", seed)
	}
	server, slow := tokens("20ms", "4ms", "1"), tokens("30ms", "6ms", "2")
	llm := func(s *binary.Server) func() string {
		return func() string {
			return b.measure("llm", "-m", "mock-llm", "-u", s.Ports["openai"], "--streaming", "--concurrency", "8", "--request-count", "120",
				"--isl", "20", "--osl", "16", "--random-seed", fmt.Sprint(b.runs+1), "--no-history")
		}
	}
	disturbance.Try(t, func() error { return b.hold(llm(server), llm(server), llm(slow)) })
}
