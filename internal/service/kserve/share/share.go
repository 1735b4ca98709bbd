// Package share lets requests and answers pass through memory that the server maps too, instead of the connection.
//
// A Pool belongs to one service of either protocol. While requests are prepared it hands out the names and sizes of
// regions; Stage then makes them, fills those of inputs and registers all at the server; Close takes everything back.
// Each input of each prepared request has a region, and all slots use it. Each output has one that all slots share:
// responses overwrite each other and are not read. Only where answers are compared with what is expected does each slot
// have regions of its own, for which Wrap puts itself between the engine and the transport.
//
// All registrations are dropped before and after a run.
package share

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/shm"
	"github.com/redline-bench/redline/internal/tensor"
)

// Server registers regions at a server in the words of one protocol.
type Server interface {
	Register(ctx context.Context, r *shm.Region) error
	UnregisterAll(ctx context.Context, kind shm.Kind) error
}

// Ref says where a tensor is: so many bytes at the start of a region.
type Ref struct {
	Tensor string
	Region string
	Size   int
}

// ErrUnregister says that the server may still hold regions that do not exist any more.
var ErrUnregister = errors.New("shared memory regions could not be unregistered")

// Pool is the shared memory of one service. Use New.
type Pool struct {
	srv     Server
	kind    shm.Kind
	batch   int
	unknown int // bytes for an output whose size the model leaves open, for each member of a batch

	names    map[string]bool // in use at the server
	inputs   []input
	outputs  []Ref
	validate bool // some answers are compared

	mu      sync.Mutex // guards what follows
	staged  bool
	regions []*shm.Region
	slots   atomic.Pointer[[]*Slot] // replaced, never changed
}

// input is the region of an input, and until it is made what will be in it.
type input struct {
	Ref
	stream, step int
	data         []byte
}

// New makes the pool that the plan asks for; nil where tensors travel over the connection.
func New(srv Server, in plan.Input) *Pool {
	p := &Pool{srv: srv, batch: max(in.Batch, 1), unknown: in.OutputRegionSize, names: map[string]bool{}}
	switch in.SharedMemory {
	case plan.SystemSharedMemory:
		p.kind = shm.System
	case plan.CUDASharedMemory:
		p.kind = shm.CUDA
	default:
		return nil
	}
	p.slots.Store(&[]*Slot{})
	return p
}

// Inputs reserves a region for each input of a request, in the order of its tensors.
func (p *Pool) Inputs(in service.Inputs) []Ref {
	refs := make([]Ref, len(in.Tensors))
	for i, t := range in.Tensors {
		refs[i] = Ref{Tensor: t.Name, Region: p.name(shm.InputName(t.Name, in.Stream, in.First)), Size: len(t.Data)}
		p.inputs = append(p.inputs, input{Ref: refs[i], stream: in.Stream, step: in.First, data: t.Data})
	}
	p.validate = p.validate || in.Expect != nil
	return refs
}

// Outputs reserves a region for each output, in the order of their names. All requests ask for the same outputs.
func (p *Pool) Outputs(m *service.Model, names []string) ([]Ref, error) {
	if p.outputs != nil {
		return p.outputs, nil
	}
	if m == nil {
		return nil, errors.New("shared memory needs the model to be described first")
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		spec, ok := m.Output(name)
		if !ok {
			return nil, fmt.Errorf("the model has no output %s", name)
		}
		size := tensor.ByteSize(spec.Type, spec.Shape)
		if size < 0 {
			size = int64(p.unknown)
		}
		p.outputs = append(p.outputs, Ref{Tensor: name, Region: p.name(shm.OutputName(name)), Size: int(size) * p.batch})
	}
	return p.outputs, nil
}

// name makes a name unique: tensors whose names differ in characters that regions cannot have would share one.
func (p *Pool) name(name string) string {
	for p.names[name] {
		name += "_"
	}
	p.names[name] = true
	return name
}

// Stage makes and registers all regions. Objects that a crashed run left on this machine are removed before. A nil pool has
// none.
func (p *Pool) Stage(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.staged = true
	shm.RemoveStale()
	if err := p.unregister(ctx); err != nil && !busy(err) { // what others use stays; where a name is taken, the server says so
		return err
	}
	for _, o := range p.outputs {
		if o.Size == 0 { // no answer would fit
			return service.EmptyRegion.With(o.Tensor)
		}
	}
	if err := p.addSlot(ctx, p.outputs); err != nil {
		return err
	}
	slices.SortStableFunc(p.inputs, func(a, b input) int {
		return cmp.Or(cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.stream, b.stream), cmp.Compare(a.step, b.step))
	})
	for _, in := range p.inputs {
		r, err := p.make(ctx, in.Ref, in.data)
		if err != nil {
			return err
		}
		p.regions = append(p.regions, r)
	}
	p.inputs = nil // the regions hold the data now
	return nil
}

// make makes a region with data in it and registers it. One of no bytes cannot be made, so it gets one.
func (p *Pool) make(ctx context.Context, ref Ref, data []byte) (*shm.Region, error) {
	size := max(ref.Size, 1)
	r, err := shm.Create(p.kind, ref.Region, size)
	if err != nil {
		return nil, p.noMemory(size, err)
	}
	if err = r.Write(0, data); err == nil {
		err = p.srv.Register(ctx, r)
	}
	if err != nil {
		_ = r.Close() // the first error says more
		return nil, err
	}
	return r, nil
}

// noMemory says that the GPU cannot be used.
func (p *Pool) noMemory(size int, err error) error {
	if p.kind != shm.CUDA {
		return err
	}
	why := errors.Unwrap(err)
	if why == nil {
		why = err
	}
	text := why.Error()
	if e, ok := errors.AsType[*shm.CUDAError](err); ok {
		text = e.Text
	}
	return service.NoGPUMemory.With(size, text)
}

// unregister drops all registrations of both kinds. A server that knows nothing of the kind that is not used may say so.
func (p *Pool) unregister(ctx context.Context) error {
	for _, kind := range []shm.Kind{shm.System, shm.CUDA} {
		err := p.drop(ctx, kind)
		if e, ok := errors.AsType[*service.Error](err); ok && e.Class == record.Server && kind != p.kind {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inUse is how Triton begins when it refuses to let regions go because a request still refers to them. It lets go of a
// request a moment after it has answered it, and of one that was cut when the model is done with it.
const inUse = "Failed to unregister the following"

// busy tells whether regions could not be unregistered because they are in use.
func busy(err error) bool {
	e, ok := errors.AsType[*service.Error](err)
	return ok && strings.HasPrefix(e.Text, inUse)
}

// drop drops all registrations of a kind, and waits for those that are in use.
func (p *Pool) drop(ctx context.Context, kind shm.Kind) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pause := time.Millisecond; ; pause *= 2 {
		err := p.srv.UnregisterAll(ctx, kind)
		if !busy(err) || !clock.Sleep(ctx, pause) {
			return err
		}
	}
}

// patience is how long to wait for the server to drop registrations of one kind.
const patience = 5 * time.Second

// Close unregisters all regions and gives their memory back, also where the server does not answer. A pool that was
// never staged, or is nil, has nothing to give back.
func (p *Pool) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.staged {
		return nil
	}
	p.staged = false
	var errs []error
	if err := p.unregister(context.Background()); err != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrUnregister, err))
	}
	for _, r := range p.regions {
		errs = append(errs, r.Close())
	}
	p.regions = nil
	return errors.Join(errs...)
}
