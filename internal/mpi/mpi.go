// Package mpi lets several runs, started together by mpirun, begin at the same moment and go on measuring until all
// of them are stable: so several models are loaded at once and measured while the others are busy too.
//
// Open MPI is loaded at run time, by the build with the tag native; nothing is loaded before Init. A World makes all
// its calls on one thread of its own, because MPI binds itself to the thread that initialized it, and a goroutine has
// no fixed one. Every call waits for the other ranks, hence the contexts; an abandoned call leaves the world broken,
// and every later one says so.
package mpi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

var (
	// ErrNative says that this build cannot load libmpi.
	ErrNative = errors.New("--enable-mpi needs redline-native, the build with the tag native on Linux")
	// ErrLibrary says that no Open MPI could be loaded.
	ErrLibrary = errors.New("no Open MPI library could be loaded")
	// ErrBroken says that an earlier call was given up or failed, so that the ranks are out of step.
	ErrBroken = errors.New("the MPI ranks are out of step after an earlier call was given up")
	// ErrFinalized says that a call came after Finalize.
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

// World is all the ranks of one mpirun. Its methods must be called in the same order on every rank, by one goroutine
// at a time.
type World struct {
	lib        api
	calls      chan func()
	size, rank int
	err        error // why no further call can be made
}

// Init loads Open MPI and joins the world. Started without mpirun, the process is a world of its own, of size 1.
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

// AllStable reports whether all ranks said that they are stable. Each rank broadcasts its own response in turn.
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

// do runs f on the world's thread. When ctx ends first, f goes on alone and the world is broken.
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

// serve is the thread. It ends with its thread locked, so that the runtime throws the thread away with what MPI may
// have left on it.
func (w *World) serve() {
	runtime.LockOSThread()
	for call := range w.calls {
		call()
	}
}
