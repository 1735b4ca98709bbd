package agree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/agree"
	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// kind is one kind of run.
type kind struct {
	name string
	// state is the expected verdict; empty for a run that cannot start. Other work on the machine can make any run
	// client-limited: its outputs are checked all the same.
	state result.State
	// line is the command line after "redline". $HTTP, $GRPC, $OPENAI, $SLOW, $FAIL and $BUSY are addresses of servers, $OTHER is the
	// result of a run of another model.
	line string
	// classes are the lines of the scenario s.yaml below "classes:", with the same words.
	classes string
	// interrupt is a text on the console at which the run gets SIGINT.
	interrupt string
	// own are options of a server of its own, at $HTTP.
	own string
}

const (
	count  = " --measurement-mode count_windows --measurement-request-count 40 -r 3 "
	steady = count + "-s 100000 "
)

// search makes the probes of a search short.
const search = " --settle 100ms --probe-min 300ms --probe-max 1s --confirm 1s"

// scenario has two classes.
const scenario = `  rest:
    profile: {model: simple, url: $HTTP, request-count: 60}
  chat:
    llm: {model: mock-llm, url: $OPENAI, streaming: true, output-tokens-mean: 3, request-count: 60, concurrency: 2}
`

// busy is a model with one worker that takes 20 ms for each request.
const busy = `name: "busy"
backend: "delay"
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { count: 1 kind: KIND_CPU } ]
parameters [ { key: "execute_delay_ms" value: { string_value: "20" } } ]
`

var kinds = []kind{
	// short and long
	{name: "one request", state: result.TooShort, line: "profile -m simple -u $HTTP --request-count 1"},
	{name: "24 requests", state: result.TooShort, line: "profile -m simple -u $HTTP --request-count 24"},
	{name: "24 requests, verbose", state: result.TooShort, line: "profile -m simple -u $HTTP --request-count 24 -v"},
	{name: "60 requests", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 60"},
	{name: "1200 requests", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 1200 --concurrency-range 4"},
	{name: "over gRPC", state: result.Valid, line: "profile -m simple -i grpc -u http://$GRPC/ --request-count 60"},
	{name: "three windows", state: result.Valid, line: "profile -m simple -u $HTTP" + steady},
	{name: "three levels", state: result.Valid, line: "profile -m simple -u $HTTP --concurrency-range 1:3" + steady},
	{name: "a schedule", state: result.Valid, line: "profile -m simple -u $SLOW --async --request-rate-range 100 --request-count 100"},
	{name: "no window with a request", state: result.TooShort, line: "profile -m custom_identity_int32 --shape INPUT0:4 -u $SLOW -p 20ms -r 3"},
	// unstable, over the limit, overloaded
	{name: "unstable", state: result.Unstable, line: "profile -m simple -u $HTTP -s 0" + count},
	{name: "two unstable levels", state: result.Unstable, line: "profile -m simple -u $HTTP --concurrency-range 1:2 -s 0" + count},
	{name: "over the limit", state: result.Valid, line: "profile -m simple -u $HTTP --concurrency-range 1:4 -l 1ns" + steady},
	{name: "too few threads for a rate", state: result.ClientLimited, line: "profile -m simple -u $SLOW --request-rate-range 400 --max-threads 1 -p 200ms -r 3 -s 100000"},
	// failures
	{name: "every request fails", state: result.ServerFailed, line: "profile -m simple -u $FAIL --request-count 60"},
	{name: "every window fails", state: result.ServerFailed, line: "profile -m simple -u $FAIL -p 50ms -r 3"},
	{name: "every fourth fails", state: result.ServerFailed, line: "profile -m simple -u $HTTP --request-count 200", own: "--fault simple=error,every=4"},
	{name: "failures are allowed", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 200 --max-error-rate 50", own: "--fault simple=error,every=4"},
	{name: "every request times out", state: result.ServerFailed, line: "profile -m custom_identity_fp32 --shape INPUT0:1 -u $FAIL --request-timeout 100ms --request-count 30 --concurrency-range 10"},
	{name: "the server dies", state: result.ServerFailed, line: "profile -m simple -u $HTTP --concurrency-range 2 --request-count 5000", own: "--fault simple=die,every=900"},
	{name: "the server dies in a window", state: result.ServerFailed, line: "profile -m simple -u $HTTP -v -s 0" + count, own: "--fault simple=die,every=70"},
	{name: "no server", line: "profile -m simple -u 127.0.0.1:1 --request-count 5"},
	{name: "no model", line: "profile -m nothing -u $HTTP --request-count 5"},
	// rules
	{name: "rules hold", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 200 --assert p99<100s --assert error_rate<1%"},
	{name: "a rule is missed", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 200 --assert p50<1ns --assert p99<100s"},
	{name: "a rule without enough requests", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 60 --assert p99<100s"},
	{name: "rules of a short run", state: result.TooShort, line: "profile -m simple -u $HTTP --request-count 8 --assert p50<1ns"},
	{name: "rules of a failed run", state: result.ServerFailed, line: "profile -m simple -u $FAIL --request-count 60 --assert p50<1ns"},
	{name: "rules of an unstable run", state: result.Unstable, line: "profile -m simple -u $HTTP -s 0 --assert p50<100s" + count},
	{name: "a baseline of another model", state: result.Valid, line: "profile -m simple -u $HTTP --request-count 60 --baseline $OTHER"},
	{name: "a rule that cannot be", line: "profile -m simple -u $HTTP --request-count 60 --assert foo<5"},
	// overloaded: the server has one worker that takes 20 ms
	{name: "an overloaded server", state: result.Valid, line: "profile -m busy -u $BUSY --async --request-rate-range 500 --request-count 60"},
	{name: "an overloaded server, with a rule", state: result.Valid, line: "profile -m busy -u $BUSY --async --request-rate-range 500 --request-count 60 --assert p50<30ms"},
	{name: "requests wait for the server", state: result.Valid, line: "profile -m busy -u $BUSY --concurrency-range 8 --request-count 60"},
	// interrupted
	{name: "interrupted", state: result.Interrupted, line: "profile -m simple -u $HTTP -v -s 0 --max-trials 100000 --measurement-mode count_windows --measurement-request-count 40", interrupt: "Pass [3]"},
	{name: "interrupted at the second level", state: result.Interrupted, line: "profile -m simple -u $HTTP --concurrency-range 1:1000" + steady, interrupt: "Request concurrency: 3"},
	{name: "interrupted, with a rule", state: result.Interrupted, line: "profile -m simple -u $HTTP --concurrency-range 1:1000 --assert p50<1ns" + steady, interrupt: "Request concurrency: 3"},
	// language models
	{name: "llm: 5 requests", state: result.TooShort, line: "llm -m mock-llm -u http://$OPENAI/v1/ --streaming --output-tokens-mean 3 --request-count 5"},
	{name: "llm: 40 requests", state: result.Valid, line: "llm -m mock-llm -u $OPENAI --streaming --output-tokens-mean 3 --request-count 40 --concurrency 4"},
	{name: "llm: a rate", state: result.Valid, line: "llm -m mock-llm -u $OPENAI --streaming --output-tokens-mean 3 --request-count 40 --request-rate 200"},
	{name: "llm: every request fails", state: result.ServerFailed, line: "llm -m mock-llm -u $OPENAI --endpoint v1/nothing --request-count 40"},
	{name: "llm: a rule is missed", state: result.Valid, line: "llm -m mock-llm -u $OPENAI --streaming --output-tokens-mean 3 --request-count 40 --concurrency 4 --goodput ttft:1s --assert goodput>1e9"},
	{name: "llm: interrupted", state: result.Interrupted, line: "llm -m mock-llm -u $OPENAI --streaming --output-tokens-mean 3 --request-count 1 --concurrency 1:500", interrupt: "concurrency 3"},
	// scenarios
	{name: "a scenario", state: result.Valid, line: "run s.yaml", classes: scenario},
	{name: "a scenario with a short class", state: result.TooShort, line: "run s.yaml", classes: strings.Replace(scenario, "count: 60", "count: 8", 1)},
	{name: "a scenario whose class fails", state: result.ServerFailed, line: "run s.yaml", classes: strings.Replace(scenario, "$HTTP", "$FAIL", 1)},
	{name: "a scenario with an objective that is missed", state: result.Valid, line: "run s.yaml --assert requests>1", classes: scenario + "    objectives: [p50<1ns]\n"},
	{name: "a scenario whose class fails, with a rule", state: result.ServerFailed, line: "run s.yaml --assert requests>1", classes: strings.Replace(scenario, "$HTTP", "$FAIL", 1)},
	{name: "a scenario without a class", line: "run s.yaml", classes: "  {}"},
	{name: "a scenario that is interrupted", state: result.Interrupted, line: "run s.yaml --progress json", classes: strings.NewReplacer("$HTTP", "$SLOW", "count: 60", "count: 100000").Replace(scenario), interrupt: `"requests"`},
	// searches
	{name: "find: the objectives hold", state: result.Valid, line: "find profile -m simple -u $SLOW --by concurrency --highest 2 --slo p50<100s" + search},
	{name: "find: with a rule that is missed", state: result.Valid, line: "find profile -m simple -u $SLOW --by concurrency --highest 2 --slo p50<100s --assert capacity>2" + search},
	{name: "find: nothing holds", state: result.Valid, line: "find profile -m simple -u $SLOW --by concurrency --highest 2 --slo p50<1us" + search},
	{name: "find: two tiers, of which one holds", state: result.Valid, line: "find profile -m simple -u $SLOW --by concurrency --highest 2 --slo p50<100s --tier fast:p50<1us" + search},
	{name: "find: every request fails", line: "find profile -m simple -u $FAIL --by concurrency --highest 2 --slo p50<100s" + search},
	{name: "find: interrupted", state: result.Interrupted, line: "find profile -m simple -u $SLOW --slo p50<100s --confirm 10m", interrupt: "single requests take"},
	{name: "find: a rule that cannot be", line: "find profile -m simple -u $SLOW --slo foo<5"},
	{name: "tune: no candidate holds", state: result.Valid, line: "tune -m simple -u $SLOW --slo p50<1us --vary batch=1,2 --probe 20ms --confirm 100ms"},
	// One search at a time tunes a server.
	{name: "tune: interrupted", state: result.Interrupted, line: "tune -m simple -u $HTTP --slo p50<100s --vary batch=1,2 --confirm 10m", interrupt: "candidates are measured"},
	{name: "tune: no server", line: "tune -m simple -u 127.0.0.1:1 --slo p50<1s --vary batch=1,2"},
	// the QA programs
	{name: "simple", state: result.TooShort, line: "simple -m custom_identity_fp32 -u $HTTP -c 10"},
	{name: "stress", state: result.Valid, line: "stress sequence -u $GRPC -r 42 -t 2 -i 3", own: "--seed 1"},
	{name: "stress: wrong sums", state: result.Failed, line: "stress sequence simple_sequence -u $GRPC -r 42 -t 2 -i 3"},
	{name: "stress: interrupted", state: result.Interrupted, line: "stress sequence -u $GRPC -r 42 -t 2 -i 0 --duration 10m -v", interrupt: "thread_1 101", own: "--seed 1"},
	{name: "stress: no server", line: "stress sequence -u 127.0.0.1:1"},
}

// together is how many runs go on at once.
const together = 3

func TestOutputsAgree(t *testing.T) {
	dir := t.TempDir()
	start := func(options ...string) *binary.Server {
		s, err := binary.StartServer(dir, bin, append(options, "--ttft", "1ms", "--itl", "0ms")...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		return s
	}
	fast, slow := start(), start("--delay", "simple=20ms", "--delay", "custom_identity_int32=500ms")
	failing := start("--fault", "simple=error", "--fault", "custom_identity_fp32=hang")
	models := filepath.Join(dir, "models", "busy")
	if err := errors.Join(os.MkdirAll(filepath.Join(models, "1"), 0o755), os.WriteFile(filepath.Join(models, "config.pbtxt"), []byte(busy), 0o600)); err != nil {
		t.Fatal(err)
	}
	overloaded := start("--model-repository", filepath.Dir(models))
	other := filepath.Join(dir, "other.json")
	if out, err := exec.Command(filepath.Join(bin, "redline"), "profile", "-m", "custom_identity_fp32", "--shape", "INPUT0:1", "-u", fast.HTTP,
		"--request-count", "60", "--json", other).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	turn := make(chan struct{}, together)
	t.Run("runs", func(t *testing.T) {
		for _, k := range kinds {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				turn <- struct{}{}
				defer func() { <-turn }()
				server := fast
				if k.own != "" {
					s := binary.Served(t, bin, strings.Fields(k.own)...)
					server = s
				}
				words := strings.NewReplacer("$HTTP", server.HTTP, "$GRPC", server.GRPC, "$OPENAI", server.Ports["openai"], "$SLOW", slow.HTTP, "$FAIL", failing.HTTP, "$BUSY", overloaded.HTTP, "$OTHER", other)
				k.check(t, strings.Fields(words.Replace(k.line)), words.Replace(k.classes))
			})
		}
	})
}

// check runs the command and checks that its outputs agree.
func (k *kind) check(t *testing.T, args []string, classes string) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("s.yaml"), []byte("classes:\n"+classes), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "redline"), append(args, "--json", file("r.json"), "--report", file("r.html"), "--junit", file("r.xml"), "--summary", file("r.md"))...)
	var out, errs binary.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(testkit.Limit, func() { cmd.Process.Kill() })
	defer timer.Stop()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if err := k.await(cmd, &out, &errs, done); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(file(name))
		if err != nil {
			return nil
		}
		return data
	}
	s := agree.Outputs{
		Command: args[0], Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String(),
		Result: read("r.json"), Page: read("r.html"), JUnit: read("r.xml"), Summary: read("r.md"),
		Gated: slices.Contains(args, "--assert") || slices.Contains(args, "--baseline"),
	}
	state, faults := s.Check()
	if state != k.state && state != result.ClientLimited {
		faults = append(faults, "the verdict is "+string(state)+", want "+string(k.state))
	}
	if len(faults) > 0 {
		t.Errorf("redline %s\n- %s\nexit code %d\n%s%s", strings.Join(args, " "), strings.Join(faults, "\n- "), s.Code, s.Stdout, s.Stderr)
	}
}

// await waits for the end of a run, and interrupts it when the text is on its console.
func (k *kind) await(cmd *exec.Cmd, out, errs *binary.Buffer, done <-chan error) error {
	for k.interrupt != "" {
		select {
		case err := <-done:
			return err
		case <-time.After(time.Millisecond): // the console is a buffer that a process fills
		}
		if strings.Contains(out.String()+errs.String(), k.interrupt) {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				return err
			}
			break
		}
	}
	return <-done
}
