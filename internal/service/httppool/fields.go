package httppool

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/wire/h2"
)

// oneHop are headers of HTTP/1.1 that speak of the connection: HTTP/2 has none of them.
var oneHop = map[string]bool{
	"host": true, "connection": true, "keep-alive": true, "proxy-connection": true, "transfer-encoding": true, "upgrade": true, "te": true,
}

// Fields are the header fields of a request over HTTP/2: the same that AppendStart and AppendUser render.
func (s *Server) Fields(method, path, ctype string) []h2.Field {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	host, given := s.names["host"]
	if host = strings.TrimSpace(host); !given || host == "" {
		host = s.name
	}
	f := []h2.Field{
		{Name: ":method", Value: method},
		{Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: host},
		{Name: ":path", Value: s.base + path},
	}
	for _, own := range []h2.Field{
		{Name: "user-agent", Value: agent},
		{Name: "accept", Value: "*/*"},
		{Name: "content-type", Value: ctype},
	} {
		if !s.Given(own.Name) {
			f = append(f, own)
		}
	}
	for _, h := range s.headers {
		name, value := strings.ToLower(h.Name), strings.TrimSpace(h.Value)
		if !oneHop[name] && value != "" {
			f = append(f, h2.Field{Name: name, Value: value})
		}
	}
	return f
}

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
