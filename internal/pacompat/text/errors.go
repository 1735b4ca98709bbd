package text

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// OpInfer is the Op of errors of inference requests; all other conversations are with fresh connections.
const OpInfer = "infer"

// ErrorText tells a failed conversation in the original's words: those of libcurl over HTTP, those of gRPC's C
// core over gRPC, and the server's own message where it sent one.
func ErrorText(err error, p plan.Protocol) string {
	var e *service.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	switch e.Class {
	case record.Server:
		return e.Error()
	case record.Mismatch:
		if strings.HasPrefix(e.Text, "Output size") {
			return e.Text
		}
		return Mismatch
	case record.OK, record.Canceled, record.Connect, record.Transport, record.Protocol, record.Timeout, record.NumClasses:
	}
	if p == plan.GRPC {
		return grpcText(e)
	}
	return httpText(e)
}

// AsyncErrorText is ErrorText for a request of an asynchronous run. There the original never looks at the state of
// an HTTP connection: it sees an answer without a body.
func AsyncErrorText(err error, p plan.Protocol) string {
	var e *service.Error
	if p == plan.HTTP && errors.As(err, &e) && (e.Class == record.Connect || e.Class == record.Transport) {
		return "failed to parse the request JSON buffer: The document is empty. at 0"
	}
	return ErrorText(err, p)
}

func httpText(e *service.Error) string {
	const prefix = "HTTP client failed: "
	switch e.Class {
	case record.Timeout:
		return prefix + "Timeout was reached"
	case record.Connect:
		return prefix + httpConnectText(e.Err)
	case record.Protocol:
		if foreignAnswer(e) {
			return prefix + "Unsupported protocol"
		}
	case record.Transport:
		return prefix + httpTransportText(e)
	case record.OK, record.Server, record.Mismatch, record.Canceled, record.NumClasses:
	}
	return e.Error()
}

func httpConnectText(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	switch {
	case errors.As(err, &dns):
		return "Couldn't resolve host name"
	case errors.As(err, &cert), errors.As(err, &authority), errors.As(err, &host):
		return "SSL peer certificate or SSH remote key was not OK"
	case errors.As(err, &header), errors.As(err, &alert):
		return "SSL connect error"
	case timedOut(err):
		return "Timeout was reached"
	}
	return "Couldn't connect to server"
}

func httpTransportText(e *service.Error) string {
	err := e.Err
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "Transferred a partial file"
	case e.Op == OpInfer && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		// On a connection in use libcurl tries once more, and cannot send the body a second time.
		return "Send failed since rewinding of the data stream failed"
	case errors.Is(err, io.EOF):
		return "Server returned nothing (no headers, no data)"
	case errors.Is(err, syscall.EPIPE):
		return "Failed sending data to the peer"
	case timedOut(err):
		return "Timeout was reached"
	}
	return "Failure when receiving data from the peer"
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func grpcText(e *service.Error) string {
	const unreachable = "failed to connect to all addresses; last error: "
	switch e.Class {
	case record.Connect:
		if host, ok := unresolved(e); ok {
			return "DNS resolution failed for " + e.Addr + ": C-ares status is not ARES_SUCCESS qtype=AAAA name=" + host +
				" is_balancer=0: Domain name not found"
		}
		return unreachable + "UNKNOWN: " + peer(e) + ": Failed to connect to remote host: " + connectReason(e.Err)
	case record.Protocol:
		if foreignAnswer(e) {
			return unreachable + "UNAVAILABLE: " + peer(e) + ": Socket closed"
		}
	case record.Transport:
		if errors.Is(e.Err, syscall.ECONNRESET) {
			return "recvmsg:Connection reset by peer"
		}
		return "Socket closed"
	case record.Timeout:
		return "Deadline Exceeded"
	case record.OK, record.Server, record.Mismatch, record.Canceled, record.NumClasses:
	}
	return e.Error()
}

// unresolved returns the name that could not be looked up. An address with a scheme is such a name as a whole.
func unresolved(e *service.Error) (string, bool) {
	if strings.Contains(e.Addr, "://") {
		return e.Addr, true
	}
	var dns *net.DNSError
	if !errors.As(e.Err, &dns) {
		return "", false
	}
	if host, _, err := net.SplitHostPort(e.Addr); err == nil {
		return host, true
	}
	return e.Addr, true
}

func connectReason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Connection refused"
	case timedOut(err):
		return "Timeout occurred: FD Shutdown"
	case errors.As(err, &errno):
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return "Connection refused"
}

// peer is the address in the form of gRPC's C core: ipv4:127.0.0.1:8001, or ipv6:%5B::1%5D:8001. Where the cause
// names the address that was dialed, that one is meant; else the one that was asked for.
func peer(e *service.Error) string {
	addr := e.Addr
	var op *net.OpError
	if errors.As(e.Err, &op) && op.Addr != nil {
		addr = op.Addr.String()
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "ipv4:" + addr
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
		return "ipv6:" + url.PathEscape("["+host+"]") + ":" + port
	}
	return "ipv4:" + host + ":" + port
}
