package faults

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// tritonLoad is a run against a real Triton.
type tritonLoad struct {
	w             wire
	s             *front
	before, after chan struct{} // requests were answered before the end of the first server, and by the second
	cmd           *exec.Cmd
	out           *binary.Buffer
}

// TestTritonIsKilledInMidRun kills a real Triton with SIGKILL under load, over HTTP, gRPC and a gRPC stream at once, and
// another one takes its place a second later. The loads go on by themselves, and no request is lost from the counts.
func TestTritonIsKilledInMidRun(t *testing.T) {
	t.Parallel()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "a Triton that is killed in mid-run", err, "python3 with venv")
	}
	first, second := startTriton(t, p), startTriton(t, p)
	profile := commands(t)[0]
	var loads []*tritonLoad
	for _, w := range profile.wires {
		if w.port != "openai" && w.cert == nil {
			loads = append(loads, newTritonLoad(t, profile, w, first))
		}
	}
	for _, l := range loads {
		<-l.before
	}
	first.Kill()
	for _, l := range loads {
		l.s.down()
	}
	time.Sleep(outage) // the time that it is away
	for _, l := range loads {
		l.s.pass(l.w.of(second))
		l.s.up()
	}
	for _, l := range loads {
		<-l.after
		_ = l.cmd.Process.Signal(syscall.SIGINT)
	}
	for _, l := range loads {
		l.judge(t)
	}
}

// startTriton starts a server with one model, which is faster than with all.
func startTriton(t *testing.T, p *peers.Peers) *peers.Triton {
	t.Helper()
	models := t.TempDir()
	for _, name := range []string{"simple.pbtxt", "add_sub.py"} {
		text, err := os.ReadFile(filepath.Join(binary.Root(), "e2e", "models", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(models, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	triton, err := p.StartTritonWith(t.Context(), t.TempDir(), []string{models})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(triton.Stop)
	return triton
}

// of is the address of a Triton for the wire.
func (w wire) of(t *peers.Triton) string {
	if w.grpc() {
		return t.GRPC
	}
	return t.HTTP
}

// newTritonLoad starts a load that goes on until it is interrupted.
func newTritonLoad(t *testing.T, c command, w wire, triton *peers.Triton) *tritonLoad {
	t.Helper()
	const some, many = 20, 1 << 20
	l := &tritonLoad{w: w, s: newFront(t, w, fault{}), before: make(chan struct{}), after: make(chan struct{})}
	l.s.pass(w.of(triton))
	began := 0 // inferences when the second server came
	l.s.before = func(n int) {
		switch {
		case n == some:
			close(l.before)
		case began == 0 && l.s.behind() != w.of(triton):
			began = n
		case began > 0 && n == began+some:
			close(l.after)
		}
	}
	l.cmd, l.out = start(t, l.s, w, slices.Concat(c.args, w.args, c.closedLoop(many))...)
	return l
}

// judge holds the report against what passed through the front: a response may have been lost with its connection.
func (l *tritonLoad) judge(t *testing.T) {
	t.Helper()
	_ = l.cmd.Wait()
	e := ended{l.cmd.ProcessState.ExitCode(), l.out.String(), &result.Result{}}
	text, err := os.ReadFile(filepath.Join(l.cmd.Dir, "r.json"))
	if err == nil {
		err = json.Unmarshal(text, e.Result)
	}
	if err != nil || e.code != 130 || panicked.MatchString(e.text) {
		t.Fatalf("%s: exit code %d, want 130 and a result: %v\n%s", l.w.name, e.code, err, e.text)
	}
	byClass, texts := e.failures()
	answered, _ := l.s.counts()
	if got := e.succeeded(); got > answered || got < answered-2 {
		t.Errorf("%s: %d requests succeeded, the servers answered %d", l.w.name, got, answered)
	}
	for class := range byClass {
		if class != "connect" && class != "transport" && class != "canceled" {
			t.Errorf("%s: failures %v\n%s", l.w.name, byClass, texts)
		}
	}
	t.Logf("%s: %d requests succeeded, failures %v", l.w.name, e.succeeded(), byClass)
}
