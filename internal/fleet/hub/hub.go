// Package hub starts a NATS server in this process, for runs without one of their own.
package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/redline-bench/redline/internal/plan"
)

// Scheme begins an address of --nats that asks for a server in this process.
const Scheme = "embedded"

// Wanted tells whether an address of --nats asks for a server in this process.
func Wanted(address string) bool {
	return address == Scheme || strings.HasPrefix(address, Scheme+"://")
}

// Port is the port of an address of --nats that asks for a server in this process.
func Port(address string) string {
	if u, err := url.Parse(address); err == nil && u.Port() != "" {
		return u.Port()
	}
	return strconv.Itoa(server.DEFAULT_PORT)
}

// startTime limits how long the server may take until it listens.
const startTime = 10 * time.Second

// Hub is a NATS server in this process.
type Hub struct {
	server *server.Server
	nats   plan.NATS
}

// Start starts the server. The address is "embedded", which listens on the loopback address and the usual port of NATS, or
// "embedded://USER:PASSWORD@HOST:PORT". The files that JetStream needs are in folder; they outlive this process.
func Start(ctx context.Context, n plan.NATS, folder string) (*Hub, error) {
	o, err := options(&n, folder)
	if err != nil {
		return nil, err
	}
	if err := free(ctx, o); err != nil {
		return nil, err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("start the embedded NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		s.Shutdown()
		return nil, fmt.Errorf("the embedded NATS server does not listen on %s after %s", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)), startTime)
	}
	if !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, fmt.Errorf("the embedded NATS server cannot use %s for its files: another run may use the folder", folder)
	}
	n.URL = address(o, s.Addr().(*net.TCPAddr).Port)
	return &Hub{server: s, nats: n}, nil
}

// free tells whether the server can listen on its port. The server itself would try for as long as startTime.
func free(ctx context.Context, o *server.Options) error {
	if o.Port == server.RANDOM_PORT {
		return nil
	}
	address := net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("the embedded NATS server cannot listen on %s: %w; use the server that has the port (--nats nats://%s), or another port (--nats embedded://HOST:PORT)", address, err, address)
	}
	return ln.Close()
}

// NATS is how clients on this machine connect to the server.
func (h *Hub) NATS() plan.NATS { return h.nats }

// InProcessConn is a connection to the server without a socket.
func (h *Hub) InProcessConn() (net.Conn, error) { return h.server.InProcessConn() }

// Stop ends the server.
func (h *Hub) Stop() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}

func options(n *plan.NATS, folder string) (*server.Options, error) {
	o := &server.Options{
		ServerName: "redline", Host: "127.0.0.1", Port: server.DEFAULT_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: folder,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: -1,
	}
	if n.URL != Scheme {
		u, err := url.Parse(n.URL)
		if err != nil {
			return nil, errors.New("--nats: write embedded://USER:PASSWORD@HOST:PORT")
		}
		if u.Hostname() != "" {
			o.Host = u.Hostname()
		}
		if p := u.Port(); p != "" {
			if o.Port, err = strconv.Atoi(p); err != nil || o.Port > 65535 {
				return nil, fmt.Errorf("--nats: %q is no port", p)
			}
			if o.Port == 0 {
				o.Port = server.RANDOM_PORT
			}
		}
		if u.User != nil {
			o.Username = u.User.Username()
			o.Password, _ = u.User.Password()
		}
	}
	if n.Cert != "" {
		conf, err := tlsConfig(n)
		if err != nil {
			return nil, err
		}
		o.TLS, o.TLSConfig, o.TLSVerify, o.TLSTimeout = true, conf, n.CA != "", 5
	}
	if ip := net.ParseIP(o.Host); o.Host != "localhost" && (ip == nil || !ip.IsLoopback()) && o.Password == "" && !o.TLSVerify {
		return nil, fmt.Errorf("--nats: other machines can reach %s, so workers must authenticate: write embedded://USER:PASSWORD@%s:%d, or give --nats-cert, --nats-key and --nats-ca",
			o.Host, o.Host, max(0, o.Port))
	}
	return o, nil
}

// tlsConfig is that of the server: with a certificate authority, clients must have a certificate too.
func tlsConfig(n *plan.NATS) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(n.Cert, n.Key)
	if err != nil {
		return nil, fmt.Errorf("--nats-cert, --nats-key: %w", err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if n.CA != "" {
		pem, err := os.ReadFile(n.CA)
		if err != nil {
			return nil, fmt.Errorf("--nats-ca: %w", err)
		}
		conf.ClientCAs = x509.NewCertPool()
		if !conf.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--nats-ca %s: there is no certificate in it", n.CA)
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return conf, nil
}

// address is how clients on this machine reach the server.
func address(o *server.Options, port int) string {
	host := o.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "nats", Host: net.JoinHostPort(host, strconv.Itoa(port))}
	if o.TLS {
		u.Scheme = "tls"
	}
	if o.Username != "" {
		u.User = url.UserPassword(o.Username, o.Password)
	}
	return u.String()
}
