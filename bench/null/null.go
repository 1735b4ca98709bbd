// Package null is a server that responds as fast as possible: the target of benchmarks, which measure the client and must not wait
// for the server.
//
// A reference server behind it serves the first request of each kind, and its response is kept; every later request of that kind
// gets the same bytes with its own id. Two requests are of one kind if they are equal except for the id and the raw tensor data.
// All requests but those for inference go to the reference server, whose statistics do not count what was answered from memory.
//
// Sessions (http.go, h2.go) are pure: bytes in, bytes out. A loop (loop_linux.go) moves the bytes between sockets and
// sessions, with epoll and without a goroutine for each connection; with TLS each connection has one (pool.go).
package null

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redline-bench/redline/internal/refserver"
)

// session is the protocol of one connection. It consumes complete requests from the start of in, and appends responses to out.
type session interface {
	consume(in, out []byte) (used int, answer []byte, err error)
}

// Server answers on two ports until it is closed.
type Server struct {
	HTTP, GRPC, Metrics string // addresses

	behind *behind
	kinds  kinds
	loops  mover
}

// mover moves bytes between connections and their sessions.
type mover interface {
	accept(l net.Listener, open func() session)
	close()
}

// Start serves HTTP and gRPC on free ports of this machine, over TLS if there is a configuration of it.
func Start(ctx context.Context, secure *tls.Config) (*Server, error) {
	server, err := refserver.Start(ctx, refserver.Config{})
	if err != nil {
		return nil, err
	}
	s := &Server{Metrics: server.Addresses().Metrics, kinds: kinds{byKey: map[key]*kind{}}}
	if s.behind, err = newBehind(server); err == nil {
		err = s.listen(ctx, secure)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the null server: %w", err), server.Close())
	}
	return s, nil
}

// listen opens the two ports.
func (s *Server) listen(ctx context.Context, secure *tls.Config) error {
	var err error
	if s.loops = newPool(); secure == nil {
		if s.loops, err = newLoops(); err != nil {
			return err
		}
	}
	for _, port := range []struct {
		to       *string
		protocol string
		open     func() session
	}{
		{&s.HTTP, "http/1.1", func() session { return &webSession{server: s} }},
		{&s.GRPC, "h2", func() session { return newRPCSession(s) }},
	} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			s.loops.close()
			return err
		}
		*port.to = l.Addr().String()
		if secure != nil {
			secure = secure.Clone()
			secure.NextProtos = []string{port.protocol}
			l = tls.NewListener(l, secure)
		}
		s.loops.accept(l, port.open)
	}
	return nil
}

// Close ends all connections.
func (s *Server) Close() error {
	s.loops.close()
	return s.behind.close()
}

// key names a kind of request.
type key struct {
	hash   uint64
	length int
}

// kind is a kept response.
type kind struct {
	answer []byte // without the id
	head   int    // HTTP: the length of the JSON in answer
	plain  bool   // HTTP: JSON alone
}

// maxKinds limits the memory; beyond it the reference server serves every new kind.
const maxKinds = 4096

// kinds holds the kept answers.
type kinds struct {
	mu    sync.RWMutex
	byKey map[key]*kind
}

func (k *kinds) get(id key) *kind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.byKey[id]
}

func (k *kinds) put(id key, v *kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byKey) < maxKinds {
		k.byKey[id] = v
	}
}
