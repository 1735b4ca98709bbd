package load

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Balanced is one service over several of the same kind: requests go to them in turn.
type Balanced struct {
	of   []service.Service
	turn atomic.Uint64
}

var _ service.Service = (*Balanced)(nil)

// NewBalanced joins services.
func NewBalanced(of []service.Service) *Balanced { return &Balanced{of: of} }

// aimed is a request with the service that it was made for.
type aimed struct {
	to  int
	req service.Request
}

// Describe asks the first service.
func (b *Balanced) Describe(ctx context.Context) (*service.Model, error) {
	return b.of[0].Describe(ctx)
}

// Prepare makes a request for the service whose turn it is.
func (b *Balanced) Prepare(in service.Inputs) (service.Request, error) {
	to := int((b.turn.Add(1) - 1) % uint64(len(b.of)))
	req, err := b.of[to].Prepare(in)
	return aimed{to, req}, err
}

// Outputs decodes as the first service does.
func (b *Balanced) Outputs(payload []byte) ([]tensor.Tensor, error) { return b.of[0].Outputs(payload) }

// Close closes all.
func (b *Balanced) Close() error {
	var errs []error
	for _, s := range b.of {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Open opens all.
func (b *Balanced) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	t := &spread{}
	for _, s := range b.of {
		tr, err := s.Open(ctx, sink)
		if err != nil {
			_ = t.Close()
			return nil, err
		}
		t.of = append(t.of, tr)
	}
	return t, nil
}

// spread is a transport over several: each of its slots is a slot of all of them, used one at a time.
type spread struct{ of []service.Transport }

func (t *spread) Grow(ctx context.Context, n int) error {
	for _, tr := range t.of {
		if err := tr.Grow(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (t *spread) Send(c *service.Call) {
	a := c.Req.(aimed)
	c.Req = a.req
	t.of[a.to].Send(c)
	// The send may come from the end of a call on another transport, whose goroutine pushes out only its own.
	t.of[a.to].Flush()
}

func (t *spread) Flush() {
	for _, tr := range t.of {
		tr.Flush()
	}
}

// Connections implements service.Multiplexer.
func (t *spread) Connections() (n int, busiest time.Duration) {
	for _, tr := range t.of {
		if m, ok := tr.(service.Multiplexer); ok {
			more, busy := m.Connections()
			n, busiest = n+more, max(busiest, busy)
		}
	}
	return n, busiest
}

func (t *spread) Cut(slot int, class record.Class) {
	for _, tr := range t.of {
		tr.Cut(slot, class)
	}
}

// Lane gives each slot its own: it has one call in flight, so its ends never meet, whichever transport reports them.
func (t *spread) Lane(slot int) int { return slot }

func (t *spread) Close() error {
	var errs []error
	for _, tr := range t.of {
		errs = append(errs, tr.Close())
	}
	return errors.Join(errs...)
}
