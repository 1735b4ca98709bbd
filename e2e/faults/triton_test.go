package faults

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// heldBack is the inference whose response does not leave before the server is killed; total is how many are sent.
const heldBack, total = 20, 60

// longest is how long the server may be away: after three seconds a run ends because the server has gone.
const longest = 2 * time.Second

// TestTritonIsKilledInMidRun kills a real Triton with SIGKILL under load, over HTTP, gRPC and a gRPC stream at once, and
// another one takes its place a second later. The loads go on by themselves, and no request is lost from the counts.
func TestTritonIsKilledInMidRun(t *testing.T) {
	t.Parallel()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "a Triton that is killed in mid-run", err, "python3 with venv")
	}
	first, second := startTriton(t, p), startTriton(t, p)
	profile, killed, restarted := commands(t)[0], make(chan struct{}), make(chan struct{})
	loaded := make(chan struct{}, len(profile.wires))
	var away, back []func()
	var long atomic.Int64 // how long the server was away
	var tasks []pool.Task
	for _, w := range profile.wires {
		if w.port == "openai" || w.cert != nil {
			continue
		}
		s := newFront(t, w, fault{})
		s.pass(w.of(first))
		s.before = func(n int) {
			if n == heldBack {
				loaded <- struct{}{}
				<-killed
			}
		}
		away = append(away, s.down)
		back = append(back, func() {
			s.pass(w.of(second))
			s.up()
		})
		tasks = append(tasks, pool.Task{Name: w.name, Run: func(t *testing.T) {
			e := load(t, s, profile, w, profile.closedLoop(total)...)
			<-restarted
			if d := time.Duration(long.Load()); d > longest {
				outcome.Inconclusive(t, "the server was away for "+d.String())
			}
			survived(t, s, e)
		}})
	}
	tasks = append(tasks, pool.Task{Name: "kill", Run: func(t *testing.T) {
		defer close(restarted)
		defer close(killed)
		for range away {
			select {
			case <-loaded:
			case <-time.After(patience):
				t.Fatal("the load does not come")
			}
		}
		begin := time.Now()
		first.Kill()
		for _, f := range away {
			f()
		}
		time.Sleep(outage) // the time that it is away
		for _, f := range back {
			f()
		}
		long.Store(int64(time.Since(begin)))
	}})
	pool.Run(t, len(tasks), tasks)
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

// survived compares a report with what passed through the front. The response that was held back may be lost.
func survived(t *testing.T, s *front, e ended) {
	t.Helper()
	byClass, texts := e.failures()
	answered, _ := s.counts()
	got, failed := e.succeeded(), byClass["connect"]+byClass["transport"]
	if got+failed != total || got > answered || got < answered-1 || answered <= heldBack {
		t.Errorf("%d requests succeeded, the servers answered %d, failures %v:\n%s", got, answered, byClass, texts)
	}
	if failed > 0 && (e.code != 99 || e.Verdict.State != result.ServerFailed) {
		t.Errorf("exit code %d and verdict %q with failures %v:\n%s", e.code, e.Verdict.State, byClass, e.text)
	}
}
