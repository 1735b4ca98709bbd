package service

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/record"
)

// What is wrong with a target before anything was sent to it: causes of an Error of class record.Connect.
var (
	ErrAddress     = errors.New("not a server address")
	ErrScheme      = errors.New("not a scheme of this protocol")
	ErrAuthorities = errors.New("no usable CA certificates")
	ErrCertificate = errors.New("no usable client certificate")
)

// ErrOtherRequest is the cause of an Error of class record.Protocol: the answer has the id of a request that was sent
// elsewhere.
var ErrOtherRequest = errors.New("the answer belongs to another request")

// ErrNoMessage is the cause of an Error of class record.Server whose Text is ours: the server sent a status alone.
var ErrNoMessage = errors.New("a status without a message")

// StatusError is the cause of an Error of class record.Server whose server answered with an HTTP status. The Error has no
// Text where the server sent no message that the protocol knows.
type StatusError struct {
	Status     int
	RetryAfter string // the header; empty if there was none
	Body       string // the beginning
}

// statusBody is how many bytes of a body a StatusError keeps.
const statusBody = 200

// NewStatusError describes an answer with a status other than the one expected.
func NewStatusError(status int, retryAfter, body []byte) *StatusError {
	text := string(body[:min(len(body), statusBody)])
	if len(body) > statusBody {
		text += "..."
	}
	return &StatusError{Status: status, RetryAfter: Said(string(retryAfter)), Body: Said(text)}
}

func (e *StatusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("the server answered with HTTP %d %s", e.Status, http.StatusText(e.Status)))
	if e.RetryAfter != "" {
		text += ", Retry-After " + e.RetryAfter
	}
	if body := strings.TrimSpace(e.Body); body != "" {
		text += ": " + body
	}
	return text
}

// Reason is the text of an error. Where the server sent Retry-After with an HTTP status, the text has it too.
func Reason(err error) string {
	text := err.Error()
	if s, ok := errors.AsType[*StatusError](err); ok && s.RetryAfter != "" && text != s.Error() {
		text += " (Retry-After " + s.RetryAfter + ")"
	}
	return text
}

// Error is a failed conversation with the server. Class says what failed; Text is the server's own message or
// the network's reason; Code is the protocol's status.
type Error struct {
	Op    string // what was being done: "model metadata", "model config", "infer", ...
	Class record.Class
	Code  int    // HTTP status or gRPC code; 0 when none was received
	Text  string // the server's message, or the reason in our words
	Addr  string // the address that was tried
	Err   error  // the cause, if any
}

func (e *Error) Error() string {
	if e.Text != "" {
		return e.Text
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Class.String()
}

func (e *Error) Unwrap() error { return e.Err }
