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
	"github.com/redline-bench/redline/internal/wire/neterr"
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
	e, ok := errors.AsType[*neterr.Error](err)
	if !ok {
		return plainCause(err)
	}
	plain := plainCause(e.Err)
	switch e.Kind {
	case neterr.NotHTTP:
		if errors.Is(e.Err, neterr.ErrHTTP1) {
			return older
		}
		return foreign
	case neterr.Closed:
		return empty
	case neterr.Truncated:
		return truncated
	case neterr.Resolve:
		return unresolved
	case neterr.Timeout:
		return late
	case neterr.Handshake:
		if plain != certificate {
			return handshake
		}
	default: // the cause tells more
	}
	return plain
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
