package rpc

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// unavailable is the gRPC code of a server that cannot be reached.
const unavailable = 14

// failure turns an error of the wire into one of the service. Texts for what gRPC's own clients report too are
// theirs, because scripts look for them.
func failure(op, addr string, err error) *service.Error {
	e := &service.Error{Op: op, Addr: addr, Class: record.Transport, Err: err}
	var (
		status *h2.StatusError
		wire   *h2.Error
		cause  *service.Error
	)
	switch {
	case errors.As(err, &status):
		e.Class, e.Code, e.Text = record.Server, status.Code, statusText(status.Code, status.Message)
	case errors.As(err, &wire) && wire.Kind == h2.Canceled:
		e.Class, e.Text = record.Canceled, "the request was canceled"
		if errors.As(wire.Err, &cause) {
			e.Class, e.Text = cause.Class, cause.Text
		}
	case errors.As(err, &wire):
		e.Class, e.Code, e.Text = wireText(addr, wire)
	default:
		e.Text = err.Error()
	}
	return e
}

// statusText is the server's message, or where it sent none, the status.
func statusText(code int, message string) string {
	if message != "" {
		return message
	}
	return "the server answered with gRPC status " + strconv.Itoa(code) + " and no message"
}

func wireText(addr string, e *h2.Error) (record.Class, int, string) {
	switch e.Kind {
	case h2.Refused:
		return record.Connect, unavailable, noConnection("UNKNOWN", peer(addr, e), "Failed to connect to remote host: Connection refused")
	case h2.Unreachable:
		return record.Connect, unavailable, noConnection("UNKNOWN", peer(addr, e), "Failed to connect to remote host: "+reason(e))
	case h2.Timeout:
		return record.Connect, unavailable, noConnection("DEADLINE_EXCEEDED", peer(addr, e), e.Text)
	case h2.TLS:
		return record.Connect, unavailable, noConnection("UNKNOWN", peer(addr, e), "Ssl handshake failed: "+reason(e))
	case h2.NotHTTP2:
		return record.Connect, unavailable, noConnection("UNAVAILABLE", peer(addr, e), e.Text)
	case h2.Closed:
		return record.Transport, unavailable, "Socket closed"
	case h2.Reset:
		return record.Transport, unavailable, "recvmsg:Connection reset by peer"
	case h2.Local:
		return record.Canceled, 0, e.Text
	case h2.Protocol:
		return record.Protocol, 0, "the answer breaks the protocol: " + e.Text
	case h2.HTTPStatus:
		return record.Protocol, int(e.Code), e.Text
	case h2.GoAway, h2.StreamReset, h2.Canceled:
	}
	return record.Transport, unavailable, e.Text
}

func noConnection(code, peer, why string) string {
	return fmt.Sprintf("failed to connect to all addresses; last error: %s: %s: %s", code, peer, why)
}

// notConnected is the error of calls for which no connection could be made.
func notConnected(op, addr string, err error) *service.Error {
	e := failure(op, addr, err)
	if e.Class == record.Transport { // closed or reset while it was being set up
		e.Class, e.Text = record.Connect, noConnection("UNAVAILABLE", peer(addr, err), e.Text)
	}
	return e
}

// peer is the address in the manner of gRPC: resolved, with its family.
func peer(addr string, e error) string {
	var op *net.OpError
	if errors.As(e, &op) && op.Addr != nil {
		addr = op.Addr.String()
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip := net.ParseIP(host)
	switch {
	case ip == nil:
		return addr
	case ip.To4() != nil:
		return "ipv4:" + addr
	}
	return "ipv6:%5B" + host + "%5D:" + port
}

// reason is the innermost cause of a failed dial.
func reason(e *h2.Error) string {
	var op *net.OpError
	if errors.As(e.Err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}

// fileError says which file of the TLS settings cannot be used.
func fileError(what, path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("read the %s %s: %w", what, path, err)
}
