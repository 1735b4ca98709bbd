package grpcpool

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/release"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/clienttls"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Server is the address of a server, and what every call to it carries. Use NewServer.
type Server struct {
	addr     string
	encoding string
	conns    int // connections for the load; 0 chooses
	tls      *tls.Config
	meta     []h2.Field
	arrivals bool           // answers of the load have the time of their arrival
	lazyDial bool           // see DialLazily
	limit    int64          // bytes of one response
	held     *budget.Budget // of the responses in flight
	unread   int64          // bytes of responses that have come in part, on one connection; 0 is four times the limit
	timeout  time.Duration  // of a call outside of the load; 0 is none
	tracing  *traceid.Sampler

	mu  sync.Mutex // guards ctl
	ctl *h2.Conn
	wg  sync.WaitGroup
}

// NewServer reads the target's address, TLS files and headers; it does not connect.
func NewServer(t plan.Target) (*Server, error) {
	s := &Server{addr: target(t.URL), conns: t.Connections, encoding: t.Compression, limit: t.ResponseLimit(0), held: budget.New(t.HeldLimit(0)), timeout: t.Timeout, tracing: t.Tracing}
	if s.encoding == "none" {
		s.encoding = ""
	}
	if t.TLS.GRPC {
		if (t.TLS.CertFile == "") != (t.TLS.KeyFile == "") {
			return nil, errors.New("a client certificate needs both the certificate chain and the private key")
		}
		host, _, err := net.SplitHostPort(s.addr)
		if err != nil {
			host = s.addr
		}
		if s.tls, err = clienttls.Load(t.TLS, host); err != nil {
			return nil, err
		}
	}
	var err error
	s.meta, err = metadata(t.Headers)
	return s, err
}

// target reads the forms of an address that gRPC has: the names of its resolvers may stand before it, a port that is
// not given is 443, and what follows its digits does not count. Any other scheme is part of the name.
func target(url string) string {
	addr := url
	for _, scheme := range []string{"dns:///", "dns:", "ipv4:", "ipv6:"} {
		if rest, ok := strings.CutPrefix(url, scheme); ok {
			addr = rest
			break
		}
	}
	if addr == "" || strings.Contains(addr, "://") {
		return url
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		if strings.Contains(strings.Trim(addr, "[]"), ":") && !strings.HasPrefix(addr, "[") {
			return addr // an IPv6 address without brackets, or nothing that could be read
		}
		return net.JoinHostPort(strings.Trim(addr, "[]"), "443")
	}
	digits := port
	if i := strings.IndexFunc(port, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = port[:i]
	}
	if digits == "" {
		digits = "0"
	}
	return net.JoinHostPort(host, digits)
}

// Addr is the address that is dialed.
func (s *Server) Addr() string { return s.addr }

// Encoding is how the messages of the load are compressed: "", gzip or deflate.
func (s *Server) Encoding() string { return s.encoding }

// Header makes the header of the load's calls of one method, given as /package.Service/Method.
func (s *Server) Header(path string) *h2.Header { return s.header(path, s.encoding) }

func (s *Server) header(path, encoding string) *h2.Header {
	return h2.Request{Authority: s.addr, Secure: s.tls != nil, Path: path, Encoding: encoding, Agent: release.Agent(), Metadata: s.meta}.Header()
}

// metadata turns the user's headers into gRPC metadata: names in lower case, binary values in base64.
func metadata(headers []plan.Header) ([]h2.Field, error) {
	var out []h2.Field
	for _, h := range headers {
		name, value := strings.ToLower(h.Name), h.Value
		if name == "" || strings.HasPrefix(name, ":") || strings.ContainsFunc(name, notToken) {
			return nil, fmt.Errorf("header name %q is not allowed in gRPC metadata: use letters, digits, '-', '_' and '.'", h.Name)
		}
		if strings.HasPrefix(name, "grpc-") || name == "te" || name == "content-type" {
			return nil, fmt.Errorf("header %q belongs to gRPC itself: leave it out", h.Name)
		}
		if strings.HasSuffix(name, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("the value of header %q holds a line break", h.Name)
		}
		out = append(out, h2.Field{Name: name, Value: value})
	}
	return out, nil
}

func notToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

// NoteArrivals asks for the times at which answers to the load came to this machine, where the kernel tells them. It is for
// answers that stream: reads cost a little more.
func (s *Server) NoteArrivals() { s.arrivals = true }

// Limit sets the most bytes of one response, for a model whose outputs have the given size. A connection may hold parts of
// four such responses, and the outputs of all requests that it carries. held bounds all connections together.
func (s *Server) Limit(response, outputs int64, held *budget.Budget) {
	s.limit, s.unread, s.held = response, max(4*response, 2*http2pool.SlotsPerConnection*outputs), held
}

// DialLazily lets a load start where the server cannot be reached: its calls report the error. It is for kinds that do not
// connect before the load.
func (s *Server) DialLazily() { s.lazyDial = true }

// Pool is the configuration of the load's connections.
func (s *Server) Pool() http2pool.Config {
	return http2pool.Config{
		Addr: s.addr, TLS: s.tls, Connections: s.conns, Arrivals: s.arrivals, MaxResponse: s.limit, MaxUnread: s.unread, Held: s.held,
		LazyDial: s.lazyDial, Failure: failure, Tracing: s.tracing,
	}
}

// control returns the connection for everything but the load.
func (s *Server) control(ctx context.Context) (*h2.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctl != nil {
		return s.ctl, nil
	}
	pool := s.Pool()
	pool.Arrivals = false
	c, err := h2.Dial(ctx, pool.Wire())
	if err != nil {
		return nil, err
	}
	s.ctl = c
	s.wg.Go(func() {
		_ = c.Serve() // each call reports its own failure
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ctl == c {
			s.ctl = nil
		}
	})
	return c, nil
}

// Call makes one call of a method and waits for its answer. A connection that the server left in the meantime, or
// on which it refuses the call, is made anew once. Errors are of type *service.Error.
func (s *Server) Call(ctx context.Context, op, path string, req, resp proto.Message) error {
	_, method, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	msg, err := proto.Marshal(req)
	if err != nil {
		return &service.Error{Op: op, Class: record.Protocol, Text: "encode " + method, Err: err}
	}
	if s.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	var answer []byte
	for attempt := 0; ; attempt++ {
		var c *h2.Conn
		if c, err = s.control(ctx); err != nil {
			return http2pool.NotConnected(failure(op, s.addr, err))
		}
		answer, err = c.Unary(ctx, s.header(path, ""), msg)
		if attempt > 0 || !stale(err) {
			break
		}
		s.forget(c)
	}
	if err != nil {
		e := failure(op, s.addr, err)
		if ctx.Err() != nil {
			e.Class, e.Text = record.Timeout, "the server did not answer in time"
			if errors.Is(ctx.Err(), context.Canceled) {
				e.Class, e.Text = record.Canceled, "the call was canceled"
			}
		}
		return e
	}
	if err := proto.Unmarshal(answer, resp); err != nil {
		return &service.Error{Op: op, Class: record.Protocol, Addr: s.addr, Text: "the answer of " + method + " is not what the protocol says", Err: err}
	}
	return nil
}

// stale tells whether a call failed because the server had left the connection, or did not process the call. Such a call is
// sent again: calls outside of the load change nothing at the server, or can be repeated.
func stale(err error) bool {
	e, ok := errors.AsType[*neterr.Error](err)
	return ok && (e.Unprocessed || e.Kind == neterr.GoAway || e.Kind == neterr.Closed || e.Kind == neterr.Reset || e.Kind == neterr.Lost)
}

func (s *Server) forget(c *h2.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctl == c {
		s.ctl = nil
	}
	_ = c.Close() // it is lost already
}

// Close ends the connection of the calls outside of the load.
func (s *Server) Close() error {
	s.mu.Lock()
	c := s.ctl
	s.ctl = nil
	s.mu.Unlock()
	if c != nil {
		_ = c.Close() // nothing is in flight on it
	}
	s.wg.Wait()
	return nil
}
