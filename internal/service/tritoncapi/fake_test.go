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
	"github.com/redline-bench/redline/internal/testkit"
)

// compiled returns the bytes of a library made of one file of testdata.
func compiled(file string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "redline-fake")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "fake.so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", path, file, "-lpthread").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("compile the stand-in %s: %w\n%s", file, err, out)
		}
		return os.ReadFile(path)
	})
}

var fakeTriton, fakeCUDA = compiled("testdata/fake.c"), compiled("testdata/cudart.c")

// install puts a stand-in where the test wants it.
func install(t testing.TB, lib func() ([]byte, error), path string) {
	t.Helper()
	text, err := lib()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fakeDir is a server folder with a library of its own: each one that is loaded counts its own leaks.
func fakeDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	install(t, fakeTriton, filepath.Join(dir, libraryName))
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
	case <-time.After(testkit.Limit):
		t.Fatal("a call did not end")
		return nil
	}
}

// opened opens a transport with n slots on a model of the stand-in. At the end of the test all must be given
// back: the stand-in refuses to stop when something of its own is left.
func opened(t testing.TB, model string, n int, s service.Sink) (*Service, *transport) {
	t.Helper()
	svc, _ := described(t, model)
	return svc, transportOf(t, svc, n, s)
}

func transportOf(t testing.TB, svc *Service, n int, s service.Sink) *transport {
	t.Helper()
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
	own := tr.(*transport)
	own.wait = time.Minute // so that it does not matter how busy this machine is
	return own
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
