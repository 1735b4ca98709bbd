package mpi

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// fake is a world of ranks within one process.
type fake struct {
	n    int
	me   int
	bus  []chan int32 // one to each rank
	meet *sync.WaitGroup
	fail error
	// waiting is closed when a broadcast of another rank is waited for.
	waiting chan struct{}
}

func (f *fake) init() error        { return f.fail }
func (f *fake) size() (int, error) { return f.n, nil }
func (f *fake) rank() (int, error) { return f.me, nil }
func (f *fake) finalize() error    { return nil }

func (f *fake) barrier() error {
	f.meet.Done()
	f.meet.Wait()
	return f.fail
}

func (f *fake) bcast(v *int32, root int) error {
	if root != f.me {
		if f.waiting != nil {
			close(f.waiting)
		}
		*v = <-f.bus[f.me]
		return nil
	}
	for i, c := range f.bus {
		if i != root {
			c <- *v
		}
	}
	return nil
}

func world(t *testing.T, n int) []*World {
	t.Helper()
	bus := make([]chan int32, n)
	for i := range bus {
		bus[i] = make(chan int32)
	}
	meet := &sync.WaitGroup{}
	meet.Add(n)
	ws := make([]*World, n)
	for i := range ws {
		var err error
		if ws[i], err = start(&fake{n: n, me: i, bus: bus, meet: meet}); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

func TestAllStable(t *testing.T) {
	f := func(want bool, stable ...bool) {
		t.Helper()
		ws := world(t, len(stable))
		var wg sync.WaitGroup
		for i, w := range ws {
			wg.Go(func() {
				if w.Size() != len(ws) || w.Rank() != i {
					t.Errorf("rank %d of %d, want %d of %d", w.Rank(), w.Size(), i, len(ws))
				}
				if err := w.Barrier(t.Context()); err != nil {
					t.Error(err)
				}
				got, err := w.AllStable(t.Context(), stable[i])
				if err != nil || got != want {
					t.Errorf("rank %d with %v: %v, %v; want %v", i, stable, got, err, want)
				}
				if err := w.Finalize(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	f(true, true)
	f(false, false)
	f(true, true, true, true)
	f(false, true, true, false)
	f(false, false, true, true)
	f(false, false, false, false)
}

func TestGivenUpWaitBreaksTheWorld(t *testing.T) {
	ws := world(t, 2)
	why := errors.New("stopped by the user")
	waiting := make(chan struct{})
	ws[0].lib.(*fake).waiting = waiting
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-waiting
		cancel(why)
	}()
	v := int32(5)
	if err := ws[0].BcastInt(ctx, 1, &v); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	ws[0].lib.(*fake).bus[0] <- 9 // the abandoned call ends
	if err := ws[0].BcastInt(t.Context(), 1, &v); !errors.Is(err, ErrBroken) {
		t.Errorf("got %v, want %v", err, ErrBroken)
	}
	if v != 5 {
		t.Errorf("an abandoned call changed the value to %d", v)
	}
}

func TestFailedCallBreaksTheWorld(t *testing.T) {
	ws := world(t, 1)
	why := errors.New("lost a rank")
	ws[0].lib.(*fake).fail = why
	if err := ws[0].Barrier(t.Context()); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	if err := ws[0].Finalize(t.Context()); !errors.Is(err, ErrBroken) {
		t.Errorf("got %v, want %v", err, ErrBroken)
	}
}

func TestAfterFinalize(t *testing.T) {
	w := world(t, 1)[0]
	if err := w.Finalize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Barrier(t.Context()); !errors.Is(err, ErrFinalized) {
		t.Errorf("got %v, want %v", err, ErrFinalized)
	}
}

func TestInitFails(t *testing.T) {
	why := errors.New("no launcher")
	if _, err := start(&fake{n: 1, fail: why}); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
