package httppool

import (
	"context"
	"errors"
)

// LazyDial ignores dial errors in Grow. Each request dials again and reports the error itself.
type LazyDial struct{ *Transport }

// Grow makes slots 0..n-1 usable.
func (t LazyDial) Grow(ctx context.Context, n int) error {
	if err := t.Transport.Grow(ctx, n); errors.Is(err, errClosed) || ctx.Err() != nil {
		return err
	}
	return nil
}
