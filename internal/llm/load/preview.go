package load

import (
	"context"
	"errors"

	"github.com/redline-bench/redline/internal/service"
)

// FirstRequest shows the first request of a level as it would go on the wire. It sends nothing.
func FirstRequest(ctx context.Context, cfg Config) ([]byte, error) {
	src, err := cfg.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	conv, ok := src.Next()
	if !ok {
		return nil, errors.Join(errors.New("there is no prompt"), src.Err())
	}
	r := &levelRun{cfg: &cfg, ids: newIDs()}
	t, err := r.open(conv)
	if err != nil {
		return nil, err
	}
	return service.Preview(ctx, cfg.Service, &service.Call{Req: t.first.req})
}

// Preview implements service.Previewer.
func (t *spread) Preview(ctx context.Context, c *service.Call) ([]byte, error) {
	a := c.Req.(aimed)
	p, ok := t.of[a.to].(service.Previewer)
	if !ok {
		return nil, service.ErrNoPreview
	}
	c.Req = a.req
	return p.Preview(ctx, c)
}
