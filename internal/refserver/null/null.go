// Package null is a server that responds as fast as possible. It is the target of benchmarks, which measure the client and must
// not wait for the server.
//
// The real server serves the first request of each kind, and its response is kept; every later request of that kind gets the
// same bytes with its own id. Two requests are of one kind if they are equal except for the id, the position in a sequence and
// the raw tensor data. Responses therefore have the right form and shape, but the numbers of the first request.
//
// Sessions (http.go, h2.go) are pure: bytes in, bytes out. A loop (loop_linux.go) moves the bytes between sockets and
// sessions, with epoll and without a goroutine for each connection; with TLS each connection has one (pool.go).
package null

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/kgrpc"
	"github.com/redline-bench/redline/internal/refserver/khttp"
	"github.com/redline-bench/redline/internal/refserver/spans"
)

// session is the protocol of one connection. It consumes complete requests from the start of in, and appends responses to out.
type session interface {
	consume(in, out []byte) (used int, answer []byte, err error)
}

// Server answers on listeners until it is closed.
type Server struct {
	core    *core.Core
	handler http.Handler
	service *kgrpc.Service
	kinds   kinds
	loops   mover
	spans   spans.Sink
}

// mover moves bytes between connections and their sessions.
type mover interface {
	accept(l net.Listener, open func() session)
	close()
}

// Start serves HTTP and gRPC on the listeners, which it takes over; over TLS if there is a configuration of it. The spans of traced requests
// go to the sink, if there is one.
func Start(c *core.Core, sink spans.Sink, web, rpc net.Listener, secure *tls.Config) (*Server, error) {
	s := &Server{core: c, handler: khttp.New(c), service: kgrpc.New(c), spans: sink}
	s.kinds.byKey = map[key]*kind{}
	var err error
	if secure != nil {
		s.loops, web, rpc = newPool(), over(web, secure, "http/1.1"), over(rpc, secure, "h2")
	} else if s.loops, err = newLoops(); err != nil {
		return nil, fmt.Errorf("start the null server: %w", err)
	}
	s.loops.accept(web, func() session { return &webSession{server: s} })
	s.loops.accept(rpc, func() session { return newRPCSession(s) })
	return s, nil
}

// over puts TLS on a listener that uses one protocol.
func over(l net.Listener, secure *tls.Config, protocol string) net.Listener {
	secure = secure.Clone()
	secure.NextProtos = []string{protocol}
	return tls.NewListener(l, secure)
}

// Close ends all connections.
func (s *Server) Close() { s.loops.close() }

// key names a kind of request.
type key struct {
	hash   uint64
	length int
}

// kind is a kept response, and how often it was sent and not yet counted.
type kind struct {
	answer []byte // without the id
	head   int    // HTTP: the length of the JSON in answer
	plain  bool   // HTTP: JSON alone
	model  string
	batch  int
	given  atomic.Int64
}

// maxKinds limits the memory; beyond it the real server serves every new kind.
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

// count adds the kept responses that were sent to the statistics, before these are read. They took no time.
func (s *Server) count() {
	s.kinds.mu.RLock()
	defer s.kinds.mu.RUnlock()
	for _, k := range s.kinds.byKey {
		n := k.given.Swap(0)
		if n == 0 {
			continue
		}
		if m, err := s.core.Models.Get(k.model, ""); err == nil {
			m.Counters.Bulk(uint64(n), k.batch)
		}
	}
}

// background is the context of calls into the real server; a connection that breaks does not end them.
func background() context.Context { return context.Background() }
