package h2

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/wire/neterr"
)

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
func violation(code uint32, format string, args ...any) *neterr.Error {
	return &neterr.Error{Kind: neterr.Malformed, Code: code, Text: fmt.Sprintf(format, args...)}
}

// readError classes the end of a connection that once worked.
func readError(err error) *neterr.Error {
	e := &neterr.Error{Kind: neterr.Lose(err), Text: "the connection broke", Err: err}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Kind, e.Text = neterr.Closed, "the server closed the connection"
	case e.Kind == neterr.Reset:
		e.Text = "the connection was reset by the server"
	}
	return e
}

// noProtocol is how crypto/tls words the alert of a server that shares no protocol with us; it exports no
// type for it.
const noProtocol = "tls: no application protocol"

// dialError classes a connection that could not be made.
func dialError(addr string, err error) *neterr.Error {
	e := neterr.Dial(addr, err)
	e.Text = "dial " + addr
	switch {
	case strings.HasSuffix(err.Error(), noProtocol):
		e.Kind = neterr.NotHTTP
	case errors.As(err, new(*tls.CertificateVerificationError)), errors.As(err, new(tls.RecordHeaderError)), errors.As(err, new(x509.UnknownAuthorityError)):
		e.Kind = neterr.Handshake
	}
	return e
}
