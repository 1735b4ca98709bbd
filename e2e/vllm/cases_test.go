package vllm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// bin is the folder of the program.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// target is a server, real or recorded, with the counts of the real one.
type target interface {
	addr() string
	counted(t *testing.T) Counters
}

// endpoints are the APIs that are tested.
var endpoints = []string{"chat", "completions", "responses", "messages"}

// tokenizerDir is the folder of the model's tokenizer.
func tokenizerDir(t *testing.T) string {
	t.Helper()
	dir, err := Tokenizer(t.Context())
	if err != nil {
		outcome.NotTested(t, "token counts of vLLM", err, "python3 with venv, npm and curl")
	}
	return dir
}

// ended is how a run ended.
type ended struct {
	out, err string
	code     int
	res      *result.Result
}

// command is `redline llm` with the model's tokenizer; it writes its result into the file.
func command(t *testing.T, addr, file string, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"llm", "-u", addr, "--json", file, "--progress", "none"}, args...)
	if !slices.Contains(args, "-m") {
		args = append(args, "-m", Model)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), args...)
	cmd.Dir = filepath.Dir(file)
	return cmd
}

// redline runs `redline llm` to its end.
func redline(t *testing.T, addr string, args ...string) ended {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	var e ended
	e.out, e.err, e.code = binary.Output(t, command(t, addr, file, args...))
	if _, err := os.Stat(file); err == nil {
		e.res = binary.Result(t, file)
	}
	return e
}

// recordedLength is the output length of the recorded responses.
const recordedLength = 16

// prompts are the options of requests that are recorded: the prompts of a file, in turn.
func prompts(t *testing.T, endpoint string) []string {
	t.Helper()
	return []string{
		"--endpoint-type", endpoint, "--input-file", filepath.Join(binary.Root(), "e2e", "vllm", "testdata", "prompts.jsonl"), "--osl", strconv.Itoa(recordedLength),
		"--extra-inputs", "ignore_eos:true", "--tokenizer", tokenizerDir(t),
	}
}

// long are the options of a request whose prompt does not fit the model's context.
func long(t *testing.T, endpoint string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "long.jsonl")
	if err := os.WriteFile(file, []byte(`{"text": "`+strings.Repeat("word ", contextLength+500)+`"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"--endpoint-type", endpoint, "--input-file", file, "--osl", strconv.Itoa(recordedLength), "--streaming"}
}

// value is a metric of the only level.
func value(t *testing.T, res *result.Result, tag string) float64 {
	t.Helper()
	m := res.Levels[0].Metric(tag)
	if m == nil {
		t.Fatalf("the result has no %s", tag)
	}
	return m.Avg
}

// counts runs requests whose responses have n tokens, and compares what is reported with what the server counted itself. It returns the
// result and the server's counts.
func counts(t *testing.T, s target, requests, n int, args ...string) (*result.Result, Counters) {
	t.Helper()
	before := s.counted(t)
	e := redline(t, s.addr(), append(args, "--request-count", strconv.Itoa(requests))...)
	if e.code != 0 || e.res == nil {
		t.Fatalf("ended with %d\n%s%s", e.code, e.out, e.err)
	}
	server := s.counted(t).Since(before)
	for what, pair := range map[string][2]float64{
		"requests":                       {value(t, e.res, "request_count"), float64(requests)},
		"tokens of the prompts":          {value(t, e.res, "total_usage_prompt_tokens"), server.Prompt},
		"generated tokens":               {value(t, e.res, "total_osl"), server.Generated},
		"generated tokens as asked for":  {value(t, e.res, "total_osl"), float64(requests * n)},
		"difference to rendered prompts": {value(t, e.res, "usage_prompt_tokens_diff_pct"), 0},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %v reported, %v are right", what, pair[0], pair[1])
		}
	}
	if !strings.Contains(e.out, "Token counts: input from tokenizer") || !strings.Contains(e.out, "; output from server usage") || strings.Contains(e.out, "Warning:") {
		t.Errorf("the report says\n%s", e.out)
	}
	return e.res, server
}

// refused runs requests that the server refuses, and checks how the failure is reported.
func refused(t *testing.T, s target, class, says string, args ...string) {
	t.Helper()
	e := redline(t, s.addr(), append(args, "--request-count", "1")...)
	if e.code != 99 || e.res == nil || len(e.res.Levels[0].Failures) != 1 {
		t.Fatalf("ended with %d\n%s%s", e.code, e.out, e.err)
	}
	if f := e.res.Levels[0].Failures[0]; f.Class != class || f.Count != 1 || !strings.Contains(f.Text, says) || !strings.Contains(e.err, says) {
		t.Errorf("%d of class %s: %s\n%s; want class %s with %q", f.Count, f.Class, f.Text, e.err, class, says)
	}
	if e.res.Verdict.State != result.ServerFailed {
		t.Errorf("the verdict is %s", e.res.Verdict.State)
	}
}

// failures are requests that the server refuses, at every endpoint.
func failures(t *testing.T, s target) {
	for _, endpoint := range endpoints {
		t.Run(endpoint, func(t *testing.T) {
			refused(t, s, "server 404", "The model `none` does not exist", append(prompts(t, endpoint), "--streaming", "-m", "none")...)
			refused(t, s, "server 400", fmt.Sprintf("maximum context length is %d tokens", contextLength), long(t, endpoint)...)
		})
	}
}

// canceled runs requests that the client cancels after some of their tokens: these are no failures, and the server stops making tokens.
func canceled(t *testing.T, s target, requests, n int, args ...string) {
	t.Helper()
	before := s.counted(t)
	e := redline(t, s.addr(), append(args, "--streaming", "--request-count", strconv.Itoa(requests), "--osl", strconv.Itoa(n),
		"--request-cancellation-rate", "100", "--request-cancellation-tokens", "25")...)
	if want := fmt.Sprintf("no request was completed: all %d were canceled", requests); e.code != 99 || e.res == nil || !strings.Contains(e.err, want) {
		t.Fatalf("ended with %d\n%s%s; want %q", e.code, e.out, e.err, want)
	}
	lv := &e.res.Levels[0]
	if got := value(t, e.res, "canceled_request_count"); got != float64(requests) || len(lv.Failures) > 0 || lv.Client.Failed > 0 {
		t.Errorf("%v canceled, %d failed: %+v", got, lv.Client.Failed, lv.Failures)
	}
	if got := s.counted(t).Since(before).Generated; got >= float64(requests*n) {
		t.Errorf("the server made %v tokens: all that were asked for", got)
	}
}

// died checks the report of a run whose server died: what was measured, and how requests failed.
func died(t *testing.T, e ended) {
	t.Helper()
	if e.code != 99 || e.res == nil || e.res.Verdict.State != result.ServerFailed {
		t.Fatalf("ended with %d\n%s%s", e.code, e.out, e.err)
	}
	lv := &e.res.Levels[0]
	if n := value(t, e.res, "request_count"); n == 0 || value(t, e.res, "time_to_first_token") <= 0 || !strings.Contains(e.out, "Time to First Token") {
		t.Errorf("what was measured is not reported: %v requests\n%s", n, e.out)
	}
	text := map[string]string{"transport": " the connection", "connect": "connection refused"}
	found := map[string]bool{}
	for _, f := range lv.Failures {
		if found[f.Class] = true; text[f.Class] == "" || !strings.Contains(f.Text, text[f.Class]) {
			t.Errorf("class %s: %s", f.Class, f.Text)
		}
	}
	if !found["connect"] || !found["transport"] || !strings.Contains(e.err, "requests in a row failed") {
		t.Errorf("failures of %v; %s", found, e.err)
	}
}
