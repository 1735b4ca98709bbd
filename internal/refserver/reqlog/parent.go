package reqlog

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// ParentOf is the traceparent of a call over gRPC; empty if it has none.
func ParentOf(ctx context.Context) string {
	if list := metadata.ValueFromIncomingContext(ctx, "traceparent"); len(list) > 0 {
		return list[0]
	}
	return ""
}
