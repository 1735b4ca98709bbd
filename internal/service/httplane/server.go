package httplane

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// Server is where a server is, and the headers that every request to it carries.
type Server struct {
	addr    string // host:port to dial
	host    string // without the port, for TLS
	name    string // as it stands in the Host header
	base    string // path before that of a request, without the slash at its end
	secure  bool
	tls     *tls.Config
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
		s.tls, err = tlsConfig(t.TLS, s.host)
	}
	if err != nil {
		// The first that is asked of a server is its model.
		return nil, &service.Error{Op: "model metadata", Class: record.Connect, Addr: t.URL, Text: err.Error(), Err: err}
	}
	for _, text := range t.Sources {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source address: %w", err)
		}
		s.sources = append(s.sources, a)
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

// tlsConfig follows the meaning that the two verification flags have in curl: the peer's chain and its name
// are separate questions, and either can be left unasked.
func tlsConfig(t plan.TLS, host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", service.ErrAuthorities, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no PEM certificate", service.ErrAuthorities, t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := clientCertificate(t)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", service.ErrCertificate, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	if t.SkipVerifyPeer || t.SkipVerifyHost {
		c.InsecureSkipVerify = true // what is still asked for is checked below
		c.VerifyConnection = verifier(t, c.RootCAs, host)
	}
	return c, nil
}

func verifier(t plan.TLS, roots *x509.CertPool, host string) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		leaf := cs.PeerCertificates[0]
		if !t.SkipVerifyHost {
			if err := leaf.VerifyHostname(host); err != nil {
				return err
			}
		}
		if t.SkipVerifyPeer {
			return nil
		}
		inter := x509.NewCertPool()
		for _, cert := range cs.PeerCertificates[1:] {
			inter.AddCert(cert)
		}
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter})
		return err
	}
}

// clientCertificate reads the certificate and its key, each as PEM or DER. As in curl, one PEM file may hold both.
func clientCertificate(t plan.TLS) (tls.Certificate, error) {
	cert, err := readPEM(t.CertFile, t.CertType, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
	}
	key := cert
	if t.KeyFile != "" {
		if key, err = readPEM(t.KeyFile, t.KeyType, "PRIVATE KEY"); err != nil {
			return tls.Certificate{}, fmt.Errorf("client key: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate %s: %w", t.CertFile, err)
	}
	return pair, nil
}

func readPEM(path, form, kind string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && strings.EqualFold(form, "DER") {
		b = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
	}
	return b, err
}
