package httplane

import (
	"context"
	"errors"
)

// Later is a transport whose Grow succeeds also where the server cannot be reached: the calls then tell, and dial
// again. It is for a run whose first failure must be a request's.
type Later struct{ *Transport }

// Grow makes slots 0..n-1 usable.
func (t Later) Grow(ctx context.Context, n int) error {
	if err := t.Transport.Grow(ctx, n); errors.Is(err, errClosed) || ctx.Err() != nil {
		return err
	}
	return nil
}
