package h2

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// Kind says what went wrong, as far as a caller may want to act on it.
type Kind uint8

// The kinds of errors.
const (
	Unreachable Kind = iota // no connection: unknown host, no route, ...
	Refused                 // no connection: nothing listens at the address
	Timeout                 // no connection, or no settings, in time
	TLS                     // the TLS handshake failed
	NotHTTP2                // what answered does not speak HTTP/2
	Closed                  // the server closed the connection
	Reset                   // the connection broke
	Local                   // closed by Conn.Close
	Protocol                // the server broke HTTP/2 or gRPC
	GoAway                  // the server takes no more streams on this connection
	StreamReset             // the server reset the stream; Code says why
	HTTPStatus              // an HTTP status other than 200; Code is the status
	Canceled                // cut by Conn.Cancel; Err is the cause given there
)

var kindNames = [...]string{
	"unreachable", "refused", "timeout", "tls", "not http/2", "closed", "reset", "closed here",
	"protocol error", "go away", "stream reset", "http status", "canceled",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is a failure of a connection or of one stream.
type Error struct {
	Kind Kind
	Code uint32 // HTTP/2 error code, or the HTTP status
	Text string
	Err  error
	// Unprocessed is set when the server promises that it did nothing with the request.
	Unprocessed bool
	// TooLarge is set when an answer is above the limits of the Config.
	TooLarge bool
}

func (e *Error) Error() string {
	if e.Err != nil && e.Text != "" {
		return e.Text + ": " + e.Err.Error()
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}

func (e *Error) Unwrap() error { return e.Err }

// ErrHTTP1 is the cause where a server answered in HTTP/1.
var ErrHTTP1 = errors.New("it speaks HTTP/1, not gRPC")

// ErrDraining is returned by Open when the connection takes no more streams; a new one is needed.
var ErrDraining = errors.New("connection takes no more streams")

// The error codes of HTTP/2 that are used here.
const (
	codeNo           uint32 = 0x0
	codeProtocol     uint32 = 0x1
	codeFlow         uint32 = 0x3
	codeFrameSize    uint32 = 0x6
	codeRefused      uint32 = 0x7
	codeCancel       uint32 = 0x8
	codeCompression  uint32 = 0x9
	codeEnhanceCalm  uint32 = 0xb
	codeHTTP11Needed uint32 = 0xd
)

var codeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

func codeName(code uint32) string {
	if code < uint32(len(codeNames)) {
		return codeNames[code]
	}
	return fmt.Sprintf("code %d", code)
}

// violation is a breach of the protocol that ends the connection (conn) or one stream.
func violation(code uint32, format string, args ...any) *Error {
	return &Error{Kind: Protocol, Code: code, Text: fmt.Sprintf(format, args...)}
}

// readError classes the end of a connection that once worked.
func readError(err error) *Error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: Closed, Text: "the server closed the connection", Err: err}
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Error{Kind: Reset, Text: "the connection was reset by the server", Err: err}
	default:
		return &Error{Kind: Reset, Text: "the connection broke", Err: err}
	}
}

// noProtocol is how crypto/tls words the alert of a server that shares no protocol with us; it exports no
// type for it.
const noProtocol = "tls: no application protocol"

// dialError classes a connection that could not be made.
func dialError(addr string, err error) *Error {
	e := &Error{Kind: Unreachable, Text: "dial " + addr, Err: err}
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		auth   x509.UnknownAuthorityError
		nerr   net.Error
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = Refused
	case strings.HasSuffix(err.Error(), noProtocol):
		e.Kind = NotHTTP2
	case errors.As(err, &verify), errors.As(err, &record), errors.As(err, &auth):
		e.Kind = TLS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &nerr) && nerr.Timeout():
		e.Kind = Timeout
	}
	return e
}
