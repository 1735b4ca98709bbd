package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Times of a connection. They make an outage short: a lost connection is noticed, and made again, within a second or two.
const (
	dialTime      = 500 * time.Millisecond
	reconnectWait = 100 * time.Millisecond
	pingEvery     = time.Second
	pingsOut      = 2
	requestTime   = 5 * time.Second
	// keepBytes limits what is kept of messages while there is no connection.
	keepBytes = 8 << 20
)

// Bus is a connection to NATS.
type Bus struct {
	nc *nats.Conn
	js jetstream.JetStream
	at string // the address, without secrets
}

// Dial connects. With wait it goes on until ctx ends if the server cannot be reached; a refusal always ends it.
func Dial(ctx context.Context, f *plan.NATS, name string, wait bool) (*Bus, error) {
	options, err := dialOptions(f, name)
	if err != nil {
		return nil, err
	}
	at := secret.PublicURL(f.URL)
	for {
		nc, err := nats.Connect(f.URL, options...)
		if err == nil {
			js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTime))
			return &Bus{nc: nc, js: js, at: at}, err
		}
		if !wait || refused(err) || !pause(ctx, 2*reconnectWait) {
			return nil, explainDial(at, err)
		}
	}
}

func dialOptions(f *plan.NATS, name string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("redline " + name), nats.Timeout(dialTime), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		nats.ReconnectBufSize(keepBytes), nats.IgnoreAuthErrorAbort(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
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
	if f.CA != "" {
		options = append(options, nats.RootCAs(f.CA))
	}
	if f.Cert != "" {
		options = append(options, nats.ClientCert(f.Cert, f.Key))
	}
	if strings.HasPrefix(f.URL, "tls:") || strings.HasPrefix(f.URL, "wss:") {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
		if f.CA != "" {
			options = append(options, nats.RootCAs(f.CA))
		}
	}
	return options, nil
}

// refused tells whether the server answered and does not want this client.
func refused(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrSecureConnRequired) || errors.Is(err, nats.ErrSecureConnWanted)
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

// Secure tells whether the connection uses TLS.
func (b *Bus) Secure() bool {
	_, err := b.nc.TLSConnectionState()
	return err == nil
}

// Close ends the connection.
func (b *Bus) Close() { b.nc.Close() }
