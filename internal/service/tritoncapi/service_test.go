//go:build native && cgo && linux

package tritoncapi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func closed(t *testing.T, svc service.Service) {
	t.Helper()
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
}

func TestDescribe(t *testing.T) {
	f := func(name string, change func(*service.Model)) {
		t.Helper()
		svc, got := described(t, name)
		defer closed(t, svc)
		spec := []service.TensorSpec{{Name: "IN0", Type: tensor.Int32, Shape: tensor.Shape{4}}}
		want := &service.Model{
			Name: name, Platform: "fake", MaxBatch: 8, Scheduler: service.DynamicBatcher, Statistics: true,
			Inputs: spec, Outputs: []service.TensorSpec{{Name: "OUT0", Type: tensor.Int32, Shape: tensor.Shape{4}}},
		}
		change(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	f("echo", func(*service.Model) {})
	f("stream", func(m *service.Model) { m.Decoupled = true })
	f("vars", func(m *service.Model) { m.Scheduler = service.SequenceBatcher })
	f("chain", func(m *service.Model) {
		m.Platform, m.Scheduler = "ensemble", service.Ensemble
		m.Composing = []service.Composing{{Name: "echo"}, {Name: "late", Version: "1"}}
	})
}

func TestStats(t *testing.T) {
	f := func(model string, want ...string) {
		t.Helper()
		svc, _ := described(t, model)
		defer closed(t, svc)
		all, err := svc.Stats(t.Context())
		if err != nil || len(all) != len(want) {
			t.Fatalf("%s: %v %v", model, all, err)
		}
		tally := func(n uint64) service.Tally { return service.Tally{Count: n, Ns: n + 1} }
		for i, got := range all {
			w := service.ModelStats{
				Name: want[i], Version: "1", Success: service.Tally{Ns: 7}, Queue: tally(1), ComputeInput: tally(3),
				ComputeInfer: tally(5), ComputeOutput: tally(7), CacheHit: tally(9), CacheMiss: tally(11),
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	}
	f("echo", "echo")
	f("chain", "chain", "echo", "late") // and not the stranger
}

func TestCannotStart(t *testing.T) {
	f := func(target plan.Target, op, want string) {
		t.Helper()
		if target.ServerDirectory == "" {
			target.ServerDirectory = fakeDir(t)
		}
		if target.ModelRepository == "" {
			target.ModelRepository = t.TempDir()
		}
		svc, err := New(target, plan.Input{})
		if err == nil {
			defer closed(t, svc)
			_, err = svc.Describe(t.Context())
		}
		var se *service.Error
		if !errors.As(err, &se) {
			t.Fatalf("got %v, want %s", err, want)
		}
		text := se.Error()
		if f, ok := errors.AsType[*service.SentenceError](err); ok && f.Err != nil {
			text += ": " + f.Err.Error()
		}
		if se.Op != op || se.Class != record.Server || !strings.HasPrefix(text, want) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
	none := t.TempDir()
	if err := os.Mkdir(filepath.Join(none, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(none, libraryName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused := filepath.Join(t.TempDir(), "refused")
	if err := os.Mkdir(refused, 0o755); err != nil {
		t.Fatal(err)
	}
	f(plan.Target{ServerDirectory: none}, OpCreate, "unable to load backend library: "+none+"/lib/libtritonserver.so: file too short")
	f(plan.Target{ModelRepository: refused}, OpCreate, string(service.ServerNotStarted)+": Internal - the repository is refused")
	f(plan.Target{Model: "missing"}, "model metadata", string(service.NotLoaded)+`: there is no model "missing" in the repository`)
	f(plan.Target{Model: "unready"}, "model metadata", string(service.NotLoaded)+": Internal: no such file")
	f(plan.Target{Model: "echo", Version: "latest"}, "model metadata", string(service.NotLoaded))
	f(plan.Target{Model: "echo", Version: "7"}, "model metadata", string(service.NotLoaded))
}

// Models can take minutes to load; the user need not wait for them to stop the run.
func TestStopDuringStart(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "slow")
	if err := os.Mkdir(slow, 0o755); err != nil {
		t.Fatal(err)
	}
	svc, err := New(plan.Target{Model: "echo", ServerDirectory: fakeDir(t), ModelRepository: slow}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = svc.Describe(ctx)
	var se *service.Error
	if !errors.As(err, &se) || se.Class != record.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestRefusesForeignTypes(t *testing.T) {
	svc, _ := described(t, "echo")
	defer closed(t, svc)
	if _, err := svc.Prepare(service.Inputs{Tensors: []tensor.Tensor{{Name: "X", Type: tensor.JSON}}}); err == nil {
		t.Error("a JSON document was taken for a tensor")
	}
}

// crashEnv names the model that the child of TestCrash loads.
const crashEnv = "REDLINE_TEST_CRASH"

// A crash of the library ends the process by its signal after one line. A panic of our own stays a panic.
func TestCrash(t *testing.T) {
	if model := os.Getenv(crashEnv); model != "" {
		crash(t, model)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := func(model string, want syscall.Signal) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), crashEnv+"="+model)
		out, err := cmd.CombinedOutput()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if said := strings.Contains(string(out), strings.TrimSpace(crashLine)); said != (want != 0) || status.Signaled() != (want != 0) || status.Signaled() && status.Signal() != want {
			t.Errorf("%s: %v, said so: %v\n%s", model, err, said, out)
		}
	}
	f("crash", syscall.SIGSEGV)
	f("abort", syscall.SIGABRT)
	f("echo", 0)
}

// crash sends one request to the model, and has a panic of its own afterwards.
func crash(t *testing.T, model string) {
	s := newSink()
	svc, tr := opened(t, model, 1, s)
	once(t, svc, tr, s, service.Inputs{Tensors: []tensor.Tensor{ints("IN0", 1)}})
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer did not panic")
		}
	}()
	var p *service.Call
	p.Slot = 1
}
