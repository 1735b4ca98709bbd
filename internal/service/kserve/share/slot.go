package share

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/shm"
	"github.com/redline-bench/redline/internal/tensor"
)

// Slot is the memory that the answers of one slot are written to. One goroutine at a time may use it.
type Slot struct {
	// Bound is the request that the Binder returned last for this slot; nil at first.
	Bound  service.Request
	expect []tensor.Tensor // outputs that Bound must have
	// Refs are the outputs, by name.
	Refs    []Ref
	regions []*shm.Region // beside Refs
	scratch []byte
	one     [1]byte
}

// Binder turns a prepared request into one that asks for its outputs in the slot's regions, and returns the outputs that
// are expected. It may reuse Slot.Bound, because a slot has at most one request in flight.
type Binder func(req service.Request, to *Slot) (bound service.Request, expect []tensor.Tensor)

// Wrap gives the slots of a transport their own regions for answers where those are compared.
func (p *Pool) Wrap(t service.Transport, bind Binder) service.Transport {
	if p == nil || !p.validate {
		return t
	}
	return &transport{Transport: t, pool: p, bind: bind}
}

type transport struct {
	service.Transport
	pool *Pool
	bind Binder
}

// Grow makes the regions of new slots before the slots themselves.
func (t *transport) Grow(ctx context.Context, n int) error {
	if err := t.pool.grow(ctx, n); err != nil {
		return err
	}
	return t.Transport.Grow(ctx, n)
}

// Tracks implements service.Tracker where the transport within does.
func (t *transport) Tracks(n int) {
	if tracker, ok := t.Transport.(service.Tracker); ok {
		tracker.Tracks(n)
	}
}

// Connections implements service.Multiplexer where the transport within does.
func (t *transport) Connections() (n int, busiest time.Duration) {
	if m, ok := t.Transport.(service.Multiplexer); ok {
		return m.Connections()
	}
	return 0, 0
}

// Renew implements service.Renewer where the transport within does.
func (t *transport) Renew() {
	if r, ok := t.Transport.(service.Renewer); ok {
		r.Renew()
	}
}

// Preview implements service.Previewer where the transport within does. The memory of the first slot is made by Stage.
func (t *transport) Preview(ctx context.Context, c *service.Call) ([]byte, error) {
	p, ok := t.Transport.(service.Previewer)
	if !ok {
		return nil, service.ErrNoPreview
	}
	t.bound(c)
	return p.Preview(ctx, c)
}

// Send sends the slot's form of the request.
func (t *transport) Send(c *service.Call) {
	t.bound(c).spoil()
	t.Transport.Send(c)
}

// bound gives a call the slot's form of its request.
func (t *transport) bound(c *service.Call) *Slot {
	slot := (*t.pool.slots.Load())[c.Slot]
	if c.Req != slot.Bound { // it is not sent again
		slot.Bound, slot.expect = t.bind(c.Req, slot)
	}
	c.Req = slot.Bound
	return slot
}

func (p *Pool) grow(ctx context.Context, n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := len(*p.slots.Load()); slot < n; slot++ {
		refs := slices.Clone(p.outputs)
		for i := range refs {
			refs[i].Region = p.name(shm.OutputName(refs[i].Tensor) + "_" + strconv.Itoa(slot))
		}
		if err := p.addSlot(ctx, refs); err != nil {
			return err
		}
	}
	return nil
}

// addSlot makes the regions of the next slot.
func (p *Pool) addSlot(ctx context.Context, refs []Ref) error {
	s := &Slot{Refs: refs}
	for _, ref := range refs {
		r, err := p.make(ctx, ref, nil)
		if err != nil {
			return err
		}
		p.regions = append(p.regions, r)
		s.regions = append(s.regions, r)
	}
	slots := append(slices.Clone(*p.slots.Load()), s)
	p.slots.Store(&slots)
	return nil
}

func (s *Slot) region(output string) *shm.Region {
	for i := range s.Refs {
		if s.Refs[i].Tensor == output {
			return s.regions[i]
		}
	}
	return nil
}

// spoil changes what an earlier response left, so that an output that the server does not write cannot be taken for the
// expected one.
func (s *Slot) spoil() {
	for _, want := range s.expect {
		data, r := want.Data, s.region(want.Name)
		if last := len(data) - 1; r != nil && last >= 0 && last < r.Size() {
			s.put(r, 0, ^data[0])
			s.put(r, last, ^data[last])
		}
	}
}

func (s *Slot) put(r *shm.Region, at int, b byte) {
	s.one[0] = b
	_ = r.Write(at, s.one[:]) // a region that cannot be written cannot be read either: Output will tell
}

// Output is what the server has written for an output of that many elements. It is valid until the next call.
func (s *Slot) Output(name string, t tensor.Datatype, elements uint64) ([]byte, error) {
	r := s.region(name)
	if r == nil {
		return nil, fmt.Errorf("output %s is not in shared memory", name)
	}
	size := uint64(r.Size())
	if width := uint64(t.Size()); width > 0 {
		if elements > size/width {
			return nil, fmt.Errorf("output %s has %d elements, more than its shared memory of %d bytes holds", name, elements, size)
		}
		size = elements * width
	}
	data, err := s.read(r, int(size))
	if err != nil || t != tensor.Bytes {
		return data, err
	}
	rest := data
	for range elements {
		if _, rest, err = tensor.NextElement(rest); err != nil {
			return nil, fmt.Errorf("output %s in shared memory: %w", name, err)
		}
	}
	return data[:len(data)-len(rest)], nil
}

// read gives the first bytes of a region: the memory itself, or where it is on a GPU a copy.
func (s *Slot) read(r *shm.Region, size int) ([]byte, error) {
	if b := r.Bytes(); b != nil {
		return b[:size], nil
	}
	s.scratch = slices.Grow(s.scratch[:0], size)[:size]
	return s.scratch, r.Read(0, s.scratch)
}
