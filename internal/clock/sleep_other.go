//go:build !linux

package clock

import (
	"context"
	"time"
)

// SleepUntil waits until Now reaches t and returns true, or returns false as soon as ctx ends.
func SleepUntil(ctx context.Context, t int64) bool {
	wait := time.Duration(t - Now())
	if wait <= 0 {
		return ctx.Err() == nil
	}
	return Sleep(ctx, wait) && ctx.Err() == nil
}
