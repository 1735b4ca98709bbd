//go:build native && cgo && linux

package tritoncapi

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	root "github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// realTriton is what a machine without one needs.
const realTriton = "it with e2e/peers/install.sh, or set REDLINE_TRITON_DIR to a Triton folder"

// serverDir is a folder laid out as a Triton installation: the one that REDLINE_TRITON_DIR names, or one made of
// the parts that e2e/peers has installed. The test is skipped where there is neither.
func serverDir(t *testing.T) string {
	t.Helper()
	if lib, err := exec.Command("python3", "-c", `import sysconfig; print(sysconfig.get_config_var("LIBDIR"))`).Output(); err == nil {
		t.Setenv("LD_LIBRARY_PATH", strings.TrimSpace(string(lib))+":"+os.Getenv("LD_LIBRARY_PATH")) // the stubs want libpython
	}
	if dir := os.Getenv("REDLINE_TRITON_DIR"); dir != "" {
		return dir
	}
	cache, err := peers.CacheDir()
	if err != nil {
		outcome.NotTested(t, "a real Triton in process", err, realTriton)
	}
	home := filepath.Join(cache, "peers", "server")
	libs, _ := filepath.Glob(filepath.Join(home, "nvidia_pytriton.libs", "libtritonserver*.so"))
	backends := filepath.Join(home, "pytriton", "tritonserver", "backends")
	if _, err := os.Stat(backends); err != nil {
		outcome.NotTested(t, "a real Triton in process", err, realTriton)
	}
	if len(libs) == 0 {
		outcome.NotTested(t, "a real Triton in process", errors.New("there is no libtritonserver in "+home), realTriton)
	}
	dir := t.TempDir()
	for _, step := range []error{
		os.Mkdir(filepath.Join(dir, "lib"), 0o755), os.Symlink(libs[0], filepath.Join(dir, libraryName)),
		os.Symlink(backends, filepath.Join(dir, "backends")), os.Mkdir(filepath.Join(dir, "repoagents"), 0o755),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	return dir
}

func int32s(name string, shape tensor.Shape, v ...int32) tensor.Tensor {
	t := tensor.Tensor{Name: name, Type: tensor.Int32, Shape: shape}
	for _, n := range v {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, uint32(n))
	}
	return t
}

// loop is a closed loop on a real model.
type loop struct {
	parts         []string // other models that it needs
	slots, rounds int
	requests      []service.Inputs // each slot sends them in turn
	sequences     bool             // they are a sequence
	failures      int
	models        int // with statistics of their own
	responses     uint32
}

func repeat(n int, v int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestRealTriton(t *testing.T) {
	dir := serverDir(t)
	repository := filepath.Join(t.TempDir(), "models")
	if err := peers.Repository(filepath.Join(root.Root(), "e2e", "models"), repository); err != nil {
		t.Fatal(err)
	}
	row, one := tensor.Shape{1, 16}, tensor.Shape{1, 1}
	floats := tensor.Tensor{Name: "INPUT0", Type: tensor.FP32, Shape: tensor.Shape{1, 2}, Data: []byte("\x00\x00\x80\x3f\x00\x00\x00\x40")}
	echoed := floats
	echoed.Name = "OUTPUT0"
	delay := int32s("DELAY", tensor.Shape{1}, 0)
	delay.Type = tensor.Uint32
	var sums []service.Inputs
	for _, total := range []int32{5, 10, 15} {
		sums = append(sums, service.Inputs{Tensors: []tensor.Tensor{int32s("INPUT", one, 5)}, Expect: []tensor.Tensor{int32s("OUTPUT", one, total)}})
	}
	for model, l := range map[string]loop{
		"simple": {slots: 8, rounds: 200, models: 1, responses: 1, requests: []service.Inputs{{
			Tensors: []tensor.Tensor{int32s("INPUT0", row, repeat(16, 7)...), int32s("INPUT1", row, repeat(16, 3)...)},
			Expect:  []tensor.Tensor{int32s("OUTPUT0", row, repeat(16, 10)...), int32s("OUTPUT1", row, repeat(16, 4)...)},
			Outputs: []string{"OUTPUT0", "OUTPUT1"},
		}}},
		"chain":      {parts: []string{"identity_fp32", "identity_second"}, slots: 4, rounds: 50, models: 3, responses: 1, requests: []service.Inputs{{Tensors: []tensor.Tensor{floats}, Expect: []tensor.Tensor{echoed}}}},
		"repeat":     {slots: 2, rounds: 20, models: 1, responses: 3, requests: []service.Inputs{{Tensors: []tensor.Tensor{int32s("IN", tensor.Shape{3}, 1, 2, 3), delay}}}},
		"accumulate": {slots: 2, rounds: 30, models: 1, responses: 1, sequences: true, requests: sums},
		"flaky":      {slots: 1, rounds: 30, models: 1, responses: 1, failures: 3, requests: []service.Inputs{{Tensors: []tensor.Tensor{floats}}}},
	} {
		t.Run(model, func(t *testing.T) {
			few := t.TempDir() // each start loads everything in its repository
			for _, name := range append(l.parts, model) {
				if err := os.Symlink(filepath.Join(repository, name), filepath.Join(few, name)); err != nil {
					t.Fatal(err)
				}
			}
			l.run(t, plan.Target{Model: model, ServerDirectory: dir, ModelRepository: few})
		})
	}
}

func (l *loop) run(t *testing.T, target plan.Target) {
	made, err := New(target, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	svc := made.(*Service)
	m, err := svc.Describe(t.Context())
	if err != nil || !m.Statistics {
		t.Fatalf("%+v, %v", m, err)
	}
	s := newSink()
	open, err := svc.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	tr := open.(*transport)
	if err := tr.Grow(t.Context(), l.slots); err != nil {
		t.Fatal(err)
	}
	l.drive(t, svc, tr, s)
	if err := tr.Close(); err != nil { // waits for the requests to be given back, which Triton does after it has counted them
		t.Error(err)
	}
	stats, err := svc.Stats(t.Context())
	if err != nil || len(stats) != l.models {
		t.Errorf("statistics of %d models, want %d: %v", len(stats), l.models, err)
	}
	for _, st := range stats {
		if n := st.Success.Count; n != uint64(l.slots*l.rounds) {
			t.Errorf("%s counts %d successes of %d requests", st.Name, n, l.slots*l.rounds)
		}
	}
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(shmDir, prefix(os.Getpid())+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// drive keeps all slots busy for the rounds.
func (l *loop) drive(t *testing.T, svc *Service, tr *transport, s *sink) {
	var reqs []service.Request
	for _, in := range l.requests {
		reqs = append(reqs, prepared(t, svc, in))
	}
	rounds, failed := make([]int, l.slots), make([]int, l.slots)
	send := func(c *service.Call) {
		n := rounds[c.Slot]
		rounds[c.Slot]++
		k := n % len(reqs)
		c.Req, c.Rec, c.Err = reqs[k], record.Record{}, nil
		if l.sequences {
			c.Vars = service.Vars{Present: true, SeqID: uint64(1 + c.Slot + l.slots*(n/len(reqs))), Start: k == 0, End: k == len(reqs)-1}
		}
		tr.Send(c)
	}
	s.next = func(c *service.Call) {
		switch {
		case c.Rec.Class == record.Server && l.failures > 0:
			failed[c.Slot]++
		case c.Err != nil || c.Rec.Responses != l.responses:
			t.Errorf("round %d: %+v %v", rounds[c.Slot], c.Rec, c.Err)
		}
		if rounds[c.Slot] == l.rounds {
			s.ends <- c
			return
		}
		send(c)
	}
	for i := range l.slots {
		send(&service.Call{Slot: i})
	}
	for range l.slots {
		if c := s.end(t); failed[c.Slot] != l.failures {
			t.Errorf("%d failures, want %d", failed[c.Slot], l.failures)
		}
	}
}
