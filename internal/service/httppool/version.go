package httppool

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// TLS is the configuration of connections over TLS; nil where the address asks for none.
func (s *Server) TLS() *tls.Config { return s.tls }

// preferWait is how long Prefers2 waits for a handshake.
const preferWait = 10 * time.Second

// Prefers2 asks the server which HTTP it wants to speak over TLS. Where it cannot be reached it is false: the first
// request will tell why.
func (s *Server) Prefers2(ctx context.Context) bool {
	if s.tls == nil {
		return false
	}
	conf := s.tls.Clone()
	conf.NextProtos = []string{"h2", "http/1.1"}
	ctx, cancel := context.WithTimeout(ctx, preferWait)
	defer cancel()
	d := tls.Dialer{NetDialer: &net.Dialer{}, Config: conf}
	nc, err := d.DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return false
	}
	defer func() { _ = nc.Close() }() // nothing was sent on it
	return nc.(*tls.Conn).ConnectionState().NegotiatedProtocol == "h2"
}
