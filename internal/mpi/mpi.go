// Package mpi lets several runs, started by mpirun, begin at the same moment and measure until all of them are stable. This
// measures several models while all of them are under load.
//
// The build with the tag native loads Open MPI at run time; nothing is loaded before Init. A World makes all its calls on one
// thread, because MPI is bound to the thread that initialized it. Every call waits for the other ranks and therefore takes a
// context. After an abandoned call the world is broken, and every later call returns ErrBroken.
package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

var (
	// ErrNative means that this build cannot load libmpi.
	ErrNative = errors.New("--enable-mpi needs redline-native, the build with the tag native on Linux")
	// ErrLibrary means that no Open MPI could be loaded.
	ErrLibrary = errors.New("no Open MPI library could be loaded")
	// ErrBroken means that an earlier call was abandoned or failed, so that the ranks are out of step.
	ErrBroken = errors.New("the MPI ranks are out of step after an earlier call was given up")
	// ErrFinalized means that a call came after Finalize.
	ErrFinalized = errors.New("MPI is finalized already")
)

// api is libmpi with the world's communicator filled in. All of it runs on the world's thread.
type api interface {
	init() error
	size() (int, error)
	rank() (int, error)
	barrier() error
	bcast(value *int32, root int) error
	finalize() error
}

// World is the ranks of one mpirun. Every rank must call its methods in the same order, from one goroutine at a time.
type World struct {
	lib        api
	calls      chan func()
	size, rank int
	err        error // why no further call can be made
}

// Init loads Open MPI and joins the world. Without mpirun the world has only this process.
// A process that ends without Finalize makes mpirun end the other ranks too.
func Init() (*World, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	return start(lib)
}

func start(lib api) (*World, error) {
	w := &World{lib: lib, calls: make(chan func())}
	go w.serve()
	err := w.do(context.Background(), func() error {
		if err := lib.init(); err != nil {
			return err
		}
		var errSize, errRank error
		w.size, errSize = lib.size()
		w.rank, errRank = lib.rank()
		return errors.Join(errSize, errRank)
	})
	if err != nil {
		close(w.calls)
		return nil, fmt.Errorf("start MPI: %w", err)
	}
	return w, nil
}

// Size is the number of ranks.
func (w *World) Size() int { return w.size }

// Rank is the number of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Barrier returns when all ranks have called it.
func (w *World) Barrier(ctx context.Context) error {
	if err := w.do(ctx, w.lib.barrier); err != nil {
		return fmt.Errorf("wait for the other MPI ranks: %w", err)
	}
	return nil
}

// BcastInt gives every rank root's value.
func (w *World) BcastInt(ctx context.Context, root int, value *int32) error {
	if root < 0 || root >= w.size {
		return fmt.Errorf("share a value of MPI rank %d: there are %d ranks", root, w.size)
	}
	// The call may outlive ctx: it must not write to the caller's variable then.
	v := *value
	err := w.do(ctx, func() error { return w.lib.bcast(&v, root) })
	if err != nil {
		return fmt.Errorf("share a value of MPI rank %d: %w", root, err)
	}
	*value = v
	return nil
}

// AllStable reports whether all ranks are stable. Each rank broadcasts its own value in turn.
func (w *World) AllStable(ctx context.Context, stable bool) (bool, error) {
	all := true
	for root := range w.size {
		var v int32
		if root == w.rank && stable {
			v = 1
		}
		if err := w.BcastInt(ctx, root, &v); err != nil {
			return false, err
		}
		all = all && v != 0
	}
	return all, nil
}

// Finalize leaves the world; like the other calls it waits for all ranks.
func (w *World) Finalize(ctx context.Context) error {
	if err := w.do(ctx, w.lib.finalize); err != nil {
		return fmt.Errorf("end MPI: %w", err)
	}
	w.err = ErrFinalized
	close(w.calls)
	return nil
}

// do runs f on the world's thread. If ctx ends first, f continues alone and the world is broken.
func (w *World) do(ctx context.Context, f func() error) error {
	if w.err != nil {
		return w.err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	w.calls <- func() { done <- f() }
	select {
	case err := <-done:
		if err != nil {
			w.err = ErrBroken
		}
		return err
	case <-ctx.Done():
		w.err = ErrBroken
		return context.Cause(ctx)
	}
}

// serve runs on the world's thread. It ends with the thread locked, so that the runtime destroys the thread with MPI's state.
func (w *World) serve() {
	runtime.LockOSThread()
	for call := range w.calls {
		call()
	}
}
