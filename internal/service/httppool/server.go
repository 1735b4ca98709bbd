package httppool

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/release"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/clienttls"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// Server is the address of a server, and the headers that every request to it carries.
type Server struct {
	addr    string // host:port to dial
	host    string // without the port, for TLS
	name    string // as it stands in the Host header
	base    string // path before that of a request, without the slash at its end
	secure  bool
	tls     *tls.Config
	agent   string // User-Agent, unless the headers have one
	headers []plan.Header
	names   map[string]string // headers by lower-case name
	sources []netip.Addr      // to connect from
	limit   int64             // bytes of one response
	held    *budget.Budget    // of the responses in flight
}

// NewServer reads the target's address, TLS files and headers. own are names of headers that the kind sets itself.
func NewServer(t plan.Target, own ...string) (*Server, error) {
	s, err := parseURL(t.URL)
	if err == nil && s.secure {
		s.tls, err = clienttls.Load(t.TLS, s.host)
	}
	if err != nil {
		// The first question to a server is about its model.
		return nil, &service.Error{Op: "model metadata", Class: record.Connect, Addr: t.URL, Text: err.Error(), Err: err}
	}
	for _, text := range t.Sources {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source address: %w", err)
		}
		s.sources = append(s.sources, a)
	}
	if s.agent = release.Agent(); t.LibcurlAgent {
		s.agent = libcurl
	}
	s.headers, s.names, s.limit, s.held = t.Headers, map[string]string{}, t.ResponseLimit(0), budget.New(t.HeldLimit(0))
	for _, h := range t.Headers {
		if err := checkHeader(h, own); err != nil {
			return nil, err
		}
		s.names[strings.ToLower(h.Name)] = h.Value
	}
	return &s, nil
}

// parseURL reads host[:port][/base] with an optional http:// or https:// before it.
func parseURL(raw string) (Server, error) {
	text := raw
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || !usable(u.Port()) {
		return Server{}, fmt.Errorf("%q is %w: give host:port, or a URL that starts with http:// or https://", raw, service.ErrAddress)
	}
	s := Server{host: u.Hostname(), name: u.Host, base: strings.TrimSuffix(u.EscapedPath(), "/")}
	port := u.Port()
	switch strings.ToLower(u.Scheme) {
	case "http":
		if port == "" {
			port = "80"
		}
	case "https":
		s.secure = true
		if port == "" {
			port = "443"
		}
	default:
		return Server{}, fmt.Errorf("%q: %s is %w: use http:// or https://", raw, u.Scheme, service.ErrScheme)
	}
	s.addr = net.JoinHostPort(s.host, port)
	return s, nil
}

// usable tells whether there can be such a port.
func usable(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

// Addr is the address to dial.
func (s *Server) Addr() string { return s.addr }

// Held is the budget of the responses in flight.
func (s *Server) Held() *budget.Budget { return s.held }

// Config is how to connect. number names a header whose decimal value is wanted, in lower case.
func (s *Server) Config(number string) h1.Config {
	return h1.Config{Addr: s.addr, TLS: s.tls, Number: number, Sources: s.sources, MaxBody: s.limit, Budget: s.held}
}
