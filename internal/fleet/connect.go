package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Times of a connection. They make an outage short: a lost connection is noticed, and made again, within a second or two.
const (
	dialTime = time.Second // enough for TLS over a distance of 300 ms
	// dialLimit is how long a server that does not answer within dialTime is tried again.
	dialLimit     = 10 * time.Second
	reconnectWait = 100 * time.Millisecond
	pingEvery     = 2 * time.Second
	pingsOut      = 2
	requestTime   = 5 * time.Second
	// settleTime limits how long NATS may take to know a subscription.
	settleTime = 10 * time.Second
	// keepBytes limits what is kept of messages while there is no connection.
	keepBytes = 8 << 20
)

// Bus is a connection to NATS.
type Bus struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	at    string // the address, without secrets
	local bool   // the server is in this process
}

// Dial connects. If the server cannot be reached it calls waiting once, with the address, and goes on until ctx ends; with nil it returns
// the error. A refusal always ends it.
func Dial(ctx context.Context, f *plan.NATS, name string, waiting func(address string)) (*Bus, error) {
	options, err := dialOptions(f, name)
	if err != nil {
		return nil, err
	}
	at := secret.Public(secret.URL, f.URL)
	for first := true; ; first = false {
		nc, err := connect(ctx, f.URL, options)
		if err == nil {
			return newBus(nc, at, false)
		}
		if waiting != nil && first && !refused(err) {
			waiting(at)
		}
		if waiting == nil || refused(err) || !clock.Sleep(ctx, 2*reconnectWait) {
			return nil, explainDial(at, err)
		}
	}
}

// DialLocal connects to a server in this process, without a socket. f is how others reach the server; its certificate need not be for
// this machine's own address.
func DialLocal(ctx context.Context, server nats.InProcessConnProvider, f *plan.NATS, name string) (*Bus, error) {
	nc, err := connect(ctx, strings.Replace(f.URL, "tls://", "nats://", 1), append(commonOptions(name), nats.InProcessServer(server)))
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS server: %w", err)
	}
	return newBus(nc, secret.Public(secret.URL, f.URL), true)
}

// connect makes a connection. A server that does not answer in time is tried again, for dialLimit.
func connect(ctx context.Context, url string, options []nats.Option) (*nats.Conn, error) {
	for end := time.Now().Add(dialLimit); ; {
		nc, err := nats.Connect(url, options...)
		if err == nil || !timedOut(err) || time.Now().After(end) || !clock.Sleep(ctx, 2*reconnectWait) {
			return nc, err
		}
	}
}

func newBus(nc *nats.Conn, at string, local bool) (*Bus, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTime))
	if err != nil {
		nc.Close()
		return nil, err
	}
	return &Bus{nc: nc, js: js, at: at, local: local}, nil
}

func commonOptions(name string) []nats.Option {
	return []nats.Option{
		nats.Name("redline " + name), nats.Timeout(dialTime), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		nats.ReconnectBufSize(keepBytes), nats.IgnoreAuthErrorAbort(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
}

func dialOptions(f *plan.NATS, name string) ([]nats.Option, error) {
	options := commonOptions(name)
	for _, file := range []string{f.Creds, f.NKey, f.CA, f.Cert, f.Key} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("read the files for NATS: %w", err)
		}
	}
	if f.Creds != "" {
		options = append(options, nats.UserCredentials(f.Creds))
	}
	if f.NKey != "" {
		o, err := nats.NkeyOptionFromSeed(f.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey %s: %w", f.NKey, err)
		}
		options = append(options, o)
	}
	if strings.HasPrefix(f.URL, "tls:") || strings.HasPrefix(f.URL, "wss:") {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if f.CA != "" {
		options = append(options, nats.RootCAs(f.CA))
	}
	if f.Cert != "" {
		options = append(options, nats.ClientCert(f.Cert, f.Key))
	}
	return options, nil
}

// refused tells whether the server answered and does not want this client.
func refused(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted) || untrusted(err) || alerted(err)
}

// timedOut tells whether the server did not answer in time.
func timedOut(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout() || errors.Is(err, nats.ErrTimeout)
}

// untrusted tells whether this client does not trust the server's certificate.
func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// alerted tells whether the server ended the TLS handshake, as it does where it wants another certificate of the client.
func alerted(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "remote error"
}

// explainDial says what to do about a connection that failed.
func explainDial(at string, err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("the NATS server at %s refuses these credentials: check the user and password in --nats, --nats-creds or --nats-nkey", at)
	case errors.Is(err, nats.ErrSecureConnRequired):
		return fmt.Errorf("the NATS server at %s wants TLS: write tls:// in --nats, and give its certificate authority with --nats-ca", at)
	case errors.Is(err, nats.ErrSecureConnWanted):
		return fmt.Errorf("the NATS server at %s has no TLS: write nats:// in --nats", at)
	case untrusted(err):
		return fmt.Errorf("the certificate of the NATS server at %s is not trusted (%w): give its certificate authority with --nats-ca", at, err)
	case alerted(err), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE): // the alert may come too late to be read
		return fmt.Errorf("the NATS server at %s ended the connection (%w): if it demands certificates of its clients, give one that it trusts with --nats-cert and --nats-key", at, err)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("no NATS server answers at %s: start one (nats-server -js), or use --nats embedded", at)
	}
	return fmt.Errorf("connect to NATS at %s: %w", at, err)
}

// explainJetStream says what to do about an error of JetStream.
func (b *Bus) explainJetStream(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("the NATS server at %s has no JetStream for this user: start it with -js, and give the account JetStream", b.at)
	}
	return fmt.Errorf("%s at NATS: %w", doing, err)
}

// copies is how many servers of a cluster keep what JetStream has of a run: with three, the loss of one server loses nothing.
const copies = 3

// create has JetStream make something: in a cluster with several copies, or with one where the cluster gives no more.
func (b *Bus) create(doing string, create func(replicas int) error) (replicas int, err error) {
	if b.nc.ConnectedClusterName() != "" {
		err := create(copies)
		if _, refused := errors.AsType[*jetstream.APIError](err); !refused {
			return copies, b.explainJetStream(doing, err)
		}
	}
	return 1, b.explainJetStream(doing, create(1))
}

// Secure tells whether the connection uses TLS, or does not leave this process.
func (b *Bus) Secure() bool {
	_, err := b.nc.TLSConnectionState()
	return b.local || err == nil
}

// settle waits until NATS has the subscriptions of this connection. A connection that is lost meanwhile is made again with them.
func (b *Bus) settle(ctx context.Context) error {
	for {
		err := b.nc.FlushWithContext(ctx)
		if err == nil || ctx.Err() != nil || b.nc.IsClosed() {
			return err
		}
		if !clock.Sleep(ctx, reconnectWait) {
			return ctx.Err()
		}
	}
}

// Close ends the connection.
func (b *Bus) Close() { b.nc.Close() }
