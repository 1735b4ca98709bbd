package grpclane

import (
	"crypto/tls"
	"errors"

	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// NewPlainServer is a server that is spoken to in plain HTTP/2, without gRPC: its kind gives Ways and headers of its
// own, and Call and Header have no meaning. A nil TLS configuration is HTTP/2 with prior knowledge. limit is the most
// bytes of one response, held the budget of all that are in flight.
func NewPlainServer(addr string, conf *tls.Config, conns int, limit int64, held *budget.Budget) *Server {
	return &Server{addr: addr, tls: conf, conns: conns, plain: true, arrivals: true, limit: limit, held: held}
}

// Cancel ends the exchange on a stream of the slot's way, where it has been sent.
func (s *Slot) Cancel(stream *h2.Stream, cause error) {
	if c := s.conn.Load(); c != nil {
		c.Cancel(stream, cause)
	}
}

// explain words the failure to connect to a server that does not speak HTTP/2.
func (s *Server) explain(err error) error {
	e, ok := errors.AsType[*neterr.Error](err)
	if !s.plain || !ok || e.Kind != neterr.NotHTTP && e.Kind != neterr.Timeout {
		return err
	}
	text := "the server does not speak HTTP/2: try --http-version 1.1"
	if e.Kind == neterr.Timeout {
		text = "connected, but no HTTP/2 settings came in time: try --http-version 1.1"
	}
	return &neterr.Error{Kind: e.Kind, Code: e.Code, Text: text, Err: e.Err}
}
