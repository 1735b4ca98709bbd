package service

import (
	"context"
	"slices"

	"github.com/redline-bench/redline/internal/record"
)

// Once sends one call on connections of its own and waits for its end; it cuts the call when ctx ends. It returns the first
// response that is not empty. How the call ended is in its record. A nil call only connects.
func Once(ctx context.Context, svc Service, c *Call) (response []byte, err error) {
	end := &onceSink{done: make(chan struct{})}
	tr, err := svc.Open(ctx, end)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	if err := tr.Grow(ctx, 1); err != nil || c == nil {
		return nil, err
	}
	tr.Send(c)
	tr.Flush()
	select {
	case <-end.done:
	case <-ctx.Done():
		tr.Cut(0, record.Timeout)
		<-end.done
	}
	return end.response, nil
}

// onceSink keeps the first response of one call.
type onceSink struct {
	response []byte
	done     chan struct{}
}

func (o *onceSink) Response(_ *Call, payload []byte, _ int64, empty bool) {
	if o.response == nil && !empty {
		o.response = slices.Clone(payload)
	}
}

func (o *onceSink) Done(*Call) { close(o.done) }
