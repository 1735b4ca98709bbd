package text

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h1"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// cause is a kind of network error for which perf_analyzer has its own message.
type cause uint8

const (
	other       cause = iota
	unresolved        // the host has no address
	refused           // nothing listens
	late              // no response in time
	certificate       // the peer's certificate is not trusted
	handshake         // TLS was not agreed on
	foreign           // the peer uses another protocol
	older             // the peer uses HTTP/1 instead of HTTP/2
	empty             // closed before the first byte of a response
	truncated         // closed within a response
	reset             // reset by the peer
	unsent            // closed by the peer while we were writing
	illegal           // not the address of a server
	authorities       // the certificates to trust cannot be read
	identity          // the client's own certificate cannot be read
)

// causeOf searches for the cause in the clients' own errors first: they know how far a request had got.
func causeOf(err error) cause {
	if one, ok := errors.AsType[*h1.Error](err); ok {
		switch one.Kind {
		case h1.NotHTTP:
			return foreign
		case h1.Empty:
			return empty
		case h1.Truncated:
			return truncated
		case h1.Resolve:
			return unresolved
		case h1.Handshake:
			if plainCause(one.Err) == certificate {
				return certificate
			}
			return handshake
		case h1.Refused, h1.Reset, h1.Unreachable, h1.Malformed, h1.TooLarge, h1.Broken, h1.Lost:
		}
		return plainCause(one.Err)
	}
	if two, ok := errors.AsType[*h2.Error](err); ok {
		switch two.Kind {
		case h2.NotHTTP2:
			if errors.Is(two.Err, h2.ErrHTTP1) {
				return older
			}
			return foreign
		case h2.Closed:
			return empty
		case h2.Timeout:
			return late
		case h2.TLS:
			return handshake
		case h2.Unreachable, h2.Refused, h2.Reset, h2.Local, h2.Protocol, h2.GoAway, h2.StreamReset, h2.HTTPStatus, h2.Canceled:
		}
		return plainCause(two.Err)
	}
	return plainCause(err)
}

func plainCause(err error) cause {
	var (
		dns       *net.DNSError
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		header    tls.RecordHeaderError
		alert     tls.AlertError
		network   net.Error
	)
	switch {
	case errors.Is(err, service.ErrAddress):
		return illegal
	case errors.Is(err, service.ErrScheme):
		return foreign
	case errors.Is(err, service.ErrAuthorities):
		return authorities
	case errors.Is(err, service.ErrCertificate):
		return identity
	case errors.As(err, &dns):
		return unresolved
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &host):
		return certificate
	case errors.As(err, &header), errors.As(err, &alert):
		return handshake
	case errors.Is(err, io.ErrUnexpectedEOF):
		return truncated
	case errors.Is(err, io.EOF):
		return empty
	case errors.Is(err, syscall.ECONNRESET):
		return reset
	case errors.Is(err, syscall.EPIPE):
		return unsent
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return late
	}
	return other
}
