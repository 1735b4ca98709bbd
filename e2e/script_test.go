// Package e2e runs the built program as a user does: the txtar scripts of testdata/script, and tests that cannot be written as
// a script.
package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// bin is the folder with redline and perf_analyzer.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("REDLINE_HISTORY", filepath.Join(env.WorkDir, "history"))
			data, err := filepath.Abs("testdata/data")
			env.Setenv("DATA", data)
			env.Values[testKey{}] = env.T()
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"stamps": stamps, "code": code, "until": until, "serve": serve, "interrupt": interrupt, "orphan": orphan, "count": count, "json": jsonPath, "plan": samePlan,
		},
	})
}

// Exit codes that other work on the machine can cause: of a run whose windows differ, and of a gate that cannot judge the run.
const unstable, unjudged = 2, 5

// testKey finds the test of a script among its values.
type testKey struct{}

// code N COMMAND... runs a command and expects that exit code. stdout and stderr match its output. A run that is client-limited, unstable or
// had a window without a request, because other work delayed the client, is repeated.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ...")
	}
	repeat(ts, args, "")
}

// stamps waits until the kernel notes when responses arrive, and has it continue until the script ends.
func stamps(ts *testscript.TestScript, _ bool, _ []string) {
	testkit.KernelStamps(ts.Value(testKey{}).(testing.TB))
}

// until TEXT COMMAND... runs a command whose output has a text on a quiet machine, and expects exit code 0. Where other work on the machine
// changes what the command measures, and so the output, it is repeated.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND ...")
	}
	repeat(ts, append([]string{"0"}, args[1:]...), args[0])
}

// repeat runs a command until it ends as expected and its output has a text.
func repeat(ts *testscript.TestScript, args []string, text string) {
	disturbance.Try(ts.Value(testKey{}).(testing.TB), func() error {
		err := ts.Exec(args[1], args[2:]...)
		got := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exit.ExitCode()
		} else {
			ts.Check(err)
		}
		output := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		switch {
		case strings.Contains(output, "too busy to calibrate"):
			return errors.New("the machine was too busy to calibrate")
		case strconv.Itoa(got) == args[0] && !strings.Contains(output, text):
			return fmt.Errorf("the output has no %q", text)
		case strconv.Itoa(got) == args[0]:
			return nil
		case got == unjudged && strings.Contains(output, "client-limited"):
			return fmt.Errorf("the run was client-limited: exit code %d, want %s", got, args[0])
		case got == unstable:
			return fmt.Errorf("the run did not become stable: exit code %d, want %s", got, args[0])
		case got == binary.NoRequests:
			return fmt.Errorf("a window had no request: exit code %d, want %s", got, args[0])
		}
		ts.Fatalf("exit code %d, want %s", got, args[0])
		return nil
	})
}

// serve ARGS... starts the reference server on free ports and sets $HTTP, $GRPC and $METRICS to its addresses.
// It is stopped at the end of the script.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	s, err := startServer(ts.Getenv("WORK"), args...)
	ts.Check(err)
	ts.Defer(s.Stop)
	ts.Setenv("HTTP", s.HTTP)
	ts.Setenv("GRPC", s.GRPC)
	ts.Setenv("METRICS", s.Metrics)
	ts.Setenv("OPENAI", s.Ports["openai"])
}

// interrupt CODE TEXT COMMAND... runs a command, sends it SIGINT when its output contains TEXT, expects the exit code, and leaves the
// output in the files out and err. A child process of the command must end with it.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: interrupt CODE TEXT COMMAND ...")
	}
	cmd := exec.Command(filepath.Join(bin, args[2]), args[3:]...)
	var out, errs binary.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, ts.Getenv("WORK")
	ts.Check(cmd.Start())
	waitFor(ts, fmt.Sprintf("%q in the output", args[1]), func() bool { return strings.Contains(out.String()+errs.String(), args[1]) })
	child := childOf(cmd.Process.Pid)
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	timer := time.AfterFunc(testkit.Limit, func() { cmd.Process.Kill() })
	cmd.Wait()
	timer.Stop()
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errs.String()), 0o644))
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s\n%s%s", got, args[0], out.String(), errs.String())
	}
	if child != 0 && running(child) {
		ts.Fatalf("its child %d still runs", child)
	}
}

// orphan COMMAND... starts a command, kills it with SIGKILL when it has a child process, and expects the child to end.
func orphan(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: orphan COMMAND ...")
	}
	cmd := exec.Command(filepath.Join(bin, args[0]), args[1:]...)
	ts.Check(cmd.Start())
	child := 0
	waitFor(ts, "a child", func() bool { child = childOf(cmd.Process.Pid); return child != 0 })
	ts.Check(cmd.Process.Kill())
	cmd.Wait()
	waitFor(ts, fmt.Sprintf("the end of child %d", child), func() bool { return !running(child) })
}

// waitFor waits for what must happen.
func waitFor(ts *testscript.TestScript, what string, cond func() bool) {
	for deadline := time.Now().Add(testkit.Limit); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s: waited in vain", what)
		}
	}
}

func childOf(pid int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		if f := strings.Fields(string(text)); len(f) > 0 {
			n, _ := strconv.Atoi(f[0])
			return n
		}
	}
	return 0
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// count N FILE expects that many lines.
func count(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: count N FILE")
	}
	if n := strings.Count(ts.ReadFile(args[1]), "\n"); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], n, args[0])
	}
}

// json FILE PATH [WANT] finds a value, as in json result.json levels.0.stable true; len gives a list's length.
func jsonPath(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json FILE PATH [WANT]")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	got, ok := lookup(v, strings.Split(args[1], "."))
	match := ok && (len(args) == 2 || got == args[2])
	if match == neg {
		ts.Fatalf("%s: %s is %q (there: %t)", args[0], args[1], got, ok)
	}
}

// samePlan compares the plans of two results, byte for byte: plan FILE FILE.
func samePlan(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plan FILE FILE")
	}
	var plans [2]string
	for i, file := range args {
		var res struct {
			Plan json.RawMessage `json:"plan"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &res))
		plans[i] = string(res.Plan)
	}
	if plans[0] == "" || plans[0] != plans[1] {
		ts.Fatalf("the plans differ:\n%s\n%s", plans[0], plans[1])
	}
}

func lookup(v any, path []string) (string, bool) {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[key]
			if !ok {
				return "", false
			}
			v = next
		case []any:
			if key == "len" {
				return strconv.Itoa(len(x)), true
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return "", false
			}
			v = x[i]
		default:
			return "", false
		}
	}
	return fmt.Sprint(v), true
}

// startServer starts the reference server with options; dir is its working folder.
func startServer(dir string, options ...string) (*binary.Server, error) {
	return binary.StartServer(dir, bin, options...)
}
