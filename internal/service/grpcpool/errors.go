package grpcpool

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Unavailable is the gRPC code of a server that cannot be reached.
const Unavailable = 14

// failure is http2pool.Failure with gRPC's status: the one that the server sent, or Unavailable.
func failure(op, addr string, err error) *service.Error {
	if status, ok := errors.AsType[*h2.StatusError](err); ok {
		text, none := statusText(status.Code, status.Message)
		if none != nil {
			err = none
		}
		return &service.Error{Op: op, Addr: addr, Class: record.Server, Code: status.Code, Text: text, Err: err}
	}
	e := http2pool.Failure(op, addr, err)
	wireErr, ok := errors.AsType[*neterr.Error](err)
	switch {
	case !ok, wireErr.Kind == neterr.Canceled: // cut here: no status of the server's
		return e
	case wireErr.Kind == neterr.Timeout, wireErr.Kind == neterr.NotHTTP:
		e.Text = strings.TrimPrefix(wireErr.Text, "dial "+addr+": ")
	}
	if e.Class == record.Connect || e.Class == record.Transport {
		e.Code = Unavailable
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
		return service.Said(message), nil
	}
	return "the server answered with gRPC status " + strconv.Itoa(code) + " and no message", service.ErrNoMessage
}
