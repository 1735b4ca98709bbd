package grpclane

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Unavailable is the gRPC code of a server that cannot be reached.
const Unavailable = 14

// failure turns an error of the wire into one of the service. Its text does not repeat the address.
func failure(op, addr string, err error) *service.Error {
	e := &service.Error{Op: op, Addr: addr, Class: record.Transport, Err: err}
	if status, ok := errors.AsType[*h2.StatusError](err); ok {
		text, none := statusText(status.Code, status.Message)
		e.Class, e.Code, e.Text = record.Server, status.Code, text
		if none != nil {
			e.Err = none
		}
		return e
	}
	wire, ok := errors.AsType[*neterr.Error](err)
	if !ok {
		e.Text = err.Error()
		return e
	}
	switch wire.Kind {
	case neterr.Refused:
		e.Class, e.Code, e.Text = record.Connect, Unavailable, "connection refused"
	case neterr.Unreachable:
		e.Class, e.Code, e.Text = record.Connect, Unavailable, reason(wire)
	case neterr.Handshake:
		e.Class, e.Code, e.Text = record.Connect, Unavailable, "no agreement on TLS: "+reason(wire)
	case neterr.Timeout, neterr.NotHTTP:
		e.Class, e.Code, e.Text = record.Connect, Unavailable, strings.TrimPrefix(wire.Text, "dial "+addr+": ")
	case neterr.Closed, neterr.Reset, neterr.GoAway, neterr.StreamReset:
		e.Code, e.Text = Unavailable, wire.Text
	case neterr.Local:
		e.Class, e.Text = record.Canceled, wire.Text
	case neterr.Malformed:
		e.Class, e.Text = record.Protocol, wire.Error()
		if wire.TooLarge {
			e.Text += service.RaiseLimit
		}
	case neterr.Status:
		e.Class, e.Code, e.Text = record.Protocol, int(wire.Code), wire.Text
	case neterr.Canceled:
		e.Class, e.Text = record.Canceled, "the request was canceled"
		if cause, ok := errors.AsType[*service.Error](wire.Err); ok {
			e.Class, e.Text = cause.Class, cause.Text
		}
	}
	return e
}

// StatusError is the failure of a call that ended with a gRPC status other than OK.
func (s *Server) StatusError(code int, message string) *service.Error {
	text, err := statusText(code, message)
	return &service.Error{Op: service.OpInfer, Class: record.Server, Code: code, Addr: s.addr, Text: text, Err: err}
}

// statusText is the server's message, or where it sent none, the status.
func statusText(code int, message string) (string, error) {
	if message != "" {
		return service.Clip(message), nil
	}
	return "the server answered with gRPC status " + strconv.Itoa(code) + " and no message", service.ErrNoMessage
}

// notConnected is the error of calls for which no connection could be made.
func notConnected(op, addr string, err error) *service.Error {
	e := failure(op, addr, err)
	if e.Class == record.Transport { // lost while it was being set up
		e.Class = record.Connect
	}
	return e
}

// reason is the innermost cause of a failed dial.
func reason(e *neterr.Error) string {
	if op, ok := errors.AsType[*net.OpError](e.Err); ok && op.Err != nil {
		return op.Err.Error()
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}
