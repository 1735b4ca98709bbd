//go:build native && cgo && linux

package tritoncapi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// fakeLibrary compiles testdata/fake.c, once.
var fakeLibrary = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "redline-fake")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "fake.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", path, "testdata/fake.c", "-lpthread").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("compile the stand-in for Triton: %w\n%s", err, out)
	}
	return os.ReadFile(path)
})

// fakeDir is a server folder with a library of its own: each one that is loaded counts its own leaks.
func fakeDir(t testing.TB) string {
	t.Helper()
	lib, err := fakeLibrary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, libraryName), lib, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// described starts the stand-in and describes one of its models.
func described(t testing.TB, model string) (*Service, *service.Model) {
	t.Helper()
	svc, err := New(plan.Target{Model: model, ServerDirectory: fakeDir(t), ModelRepository: t.TempDir()}, plan.Input{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := svc.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return svc.(*Service), m
}

// sink gathers what happens. next, when set, is called at the end of a call, on the lane, and may send again.
type sink struct {
	next func(c *service.Call)
	ends chan *service.Call

	mu    sync.Mutex
	got   [][]byte
	empty int
}

func newSink() *sink { return &sink{ends: make(chan *service.Call, 10_000)} }

func (s *sink) Response(_ *service.Call, payload []byte, _ int64, empty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if empty {
		s.empty++
		return
	}
	s.got = append(s.got, bytes.Clone(payload))
}

func (s *sink) Done(c *service.Call) {
	if s.next != nil {
		s.next(c)
		return
	}
	s.ends <- c
}

// end waits for the end of one call.
func (s *sink) end(t testing.TB) *service.Call {
	t.Helper()
	select {
	case c := <-s.ends:
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("a call did not end")
		return nil
	}
}

// opened opens a transport with n slots on a model of the stand-in. At the end of the test all must be given
// back: the stand-in refuses to stop when something of its own is left.
func opened(t testing.TB, model string, n int, s service.Sink) (*Service, *transport) {
	t.Helper()
	svc, _ := described(t, model)
	tr, err := svc.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := tr.Grow(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return svc, tr.(*transport)
}

// ints is an INT32 tensor of four values.
func ints(name string, v ...byte) tensor.Tensor {
	data := make([]byte, 16)
	for i, b := range v {
		data[4*i] = b
	}
	return tensor.Tensor{Name: name, Type: tensor.Int32, Shape: tensor.Shape{1, 4}, Data: data}
}

func prepared(t testing.TB, svc *Service, in service.Inputs) service.Request {
	t.Helper()
	r, err := svc.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// once sends one call and returns it after its end.
func once(t testing.TB, svc *Service, tr *transport, s *sink, in service.Inputs) *service.Call {
	t.Helper()
	tr.Send(&service.Call{Req: prepared(t, svc, in)})
	return s.end(t)
}

func wantClass(t testing.TB, c *service.Call, class record.Class, text string) {
	t.Helper()
	if c.Rec.Class != class || (c.Err == nil) != (class == record.OK) || c.Err != nil && c.Err.Error() != text {
		t.Errorf("ended as %s (%v), want %s (%s)", c.Rec.Class, c.Err, class, text)
	}
}
