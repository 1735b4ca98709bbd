package testkit

import (
	"net"
	"testing"

	"google.golang.org/grpc"
)

// ServeGRPC serves until the end of the test.
func ServeGRPC(tb testing.TB, srv *grpc.Server, ln net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	tb.Cleanup(func() {
		srv.Stop()
		<-done
	})
}
