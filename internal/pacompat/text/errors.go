package text

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// StartText splits a failure before the load began into what was being done and the detail, for StartFailed.
func StartText(err error, p plan.Protocol) (what, detail string) {
	what = "failed to get model metadata" // perf_analyzer's first request, where other errors appear too
	if e, ok := errors.AsType[*service.Error](err); ok {
		switch e.Op {
		case "model config":
			what = "failed to get model config"
		case "model parser":
			what = "failed to create model parser"
		case "start", "trace setting": // perf_analyzer's client sets the trace settings when it is created
			what = "failed to create triton client backend"
		case "server metadata":
			what = "unable to get server metadata"
		}
	}
	return what, ErrorText(err, p)
}

// ErrorText returns perf_analyzer's message for a failed request: that of libcurl over HTTP, that of gRPC's C core over gRPC, and
// the server's own message if it sent one.
func ErrorText(err error, p plan.Protocol) string {
	return cleantext.Block(errorText(err, p), longestText)
}

// longestText is how many characters of a server's message are printed.
const longestText = 4096

func errorText(err error, p plan.Protocol) string {
	e, ok := errors.AsType[*service.Error](err)
	if ok && e.Class == record.Mismatch && p == "" {
		return MismatchSize // in process, perf_analyzer checks only the size
	}
	if text, known := faultText(err); known {
		return text
	}
	if !ok {
		return err.Error()
	}
	if bad, ok := errors.AsType[*jsonscan.SyntaxError](e.Err); ok && p == plan.HTTP {
		return answerText(e.Class, bad)
	}
	if e.Text == "" && errors.As(e.Err, new(*service.StatusError)) {
		return "inference failed with unknown error"
	}
	if errors.Is(e.Err, service.ErrNoMessage) {
		return "" // perf_analyzer prints an empty message
	}
	switch e.Class {
	case record.Connect, record.Transport, record.Protocol, record.Timeout:
		switch p {
		case plan.GRPC:
			return grpcText(e)
		case plan.HTTP:
			return httpText(e)
		}
	case record.Mismatch:
		return Mismatch
	case record.OK, record.Server, record.Canceled, record.NumClasses:
	}
	return e.Error()
}

// AsyncErrorText is ErrorText for a request of an asynchronous run, where perf_analyzer never checks the state of an HTTP
// connection: it sees a response without a body.
func AsyncErrorText(err error, p plan.Protocol) string {
	e, ok := errors.AsType[*service.Error](err)
	if p == plan.HTTP && ok && (e.Class == record.Connect || e.Class == record.Transport) {
		return "failed to parse the request JSON buffer: The document is empty. at 0"
	}
	return ErrorText(err, p)
}

func httpText(e *service.Error) string {
	why := causeOf(e.Err)
	var text string
	switch {
	case e.Class == record.Timeout, why == late:
		text = "Timeout was reached"
	case why == illegal:
		text = "URL using bad/illegal format or missing URL"
	case why == authorities:
		text = "Problem with the SSL CA cert (path? access rights?)"
	case why == identity:
		text = "Problem with the local SSL certificate"
	case why == foreign:
		text = "Unsupported protocol"
	case e.Class == record.Protocol:
		return e.Error()
	case why == unresolved:
		text = "Couldn't resolve host name"
	case why == certificate:
		text = "SSL peer certificate or SSH remote key was not OK"
	case why == handshake:
		text = "SSL connect error"
	case e.Class == record.Connect:
		text = "Couldn't connect to server"
	case why == truncated:
		text = "Transferred a partial file"
	case e.Op == service.OpInfer && (why == empty || why == reset):
		// On a connection in use libcurl tries once more, and cannot send the body a second time.
		text = "Send failed since rewinding of the data stream failed"
	case why == empty:
		text = "Server returned nothing (no headers, no data)"
	case why == unsent:
		text = "Failed sending data to the peer"
	default:
		text = "Failure when receiving data from the peer"
	}
	return "HTTP client failed: " + text
}

// answerText is perf_analyzer's message for a response that is not JSON. It differs between error responses and others.
func answerText(c record.Class, bad *jsonscan.SyntaxError) string {
	at := strconv.Itoa(bad.Offset)
	if c == record.Server {
		return "failed to parse the request JSON buffer: " + jsonText(bad.Code) + " at " + at
	}
	return "failed to parse JSON at" + at + ": " + jsonText(bad.Code)
}

// jsonText is RapidJSON's sentence for a fault.
func jsonText(c jsonscan.Code) string {
	texts := [...]string{
		jsonscan.Empty:         "The document is empty.",
		jsonscan.Trailing:      "The document root must not be followed by other values.",
		jsonscan.BadValue:      "Invalid value.",
		jsonscan.MissingName:   "Missing a name for object member.",
		jsonscan.MissingColon:  "Missing a colon after a name of object member.",
		jsonscan.MissingBrace:  "Missing a comma or } after an object member.",
		jsonscan.MissingSquare: "Missing a comma or ] after an array element.",
		jsonscan.BadHex:        "Incorrect hex digit after \\u escape in string.",
		jsonscan.BadSurrogate:  "The surrogate pair in string is invalid.",
		jsonscan.BadEscape:     "Invalid escape character in string.",
		jsonscan.MissingQuote:  "Missing a closing quotation mark in string.",
		jsonscan.TooBig:        "Number too big to be stored in double.",
		jsonscan.NoFraction:    "Miss fraction part in number.",
		jsonscan.NoExponent:    "Miss exponent in number.",
	}
	if int(c) < len(texts) && texts[c] != "" {
		return texts[c]
	}
	return "Unspecific syntax error."
}

func grpcText(e *service.Error) string {
	const unreachable = "failed to connect to all addresses; last error: "
	why := causeOf(e.Err)
	scheme := strings.Contains(e.Addr, "://") // an address with a scheme is resolved as a name
	switch {
	case e.Class == record.Connect && (scheme || why == unresolved):
		name := e.Addr
		if host, _, err := net.SplitHostPort(e.Addr); err == nil && !scheme {
			name = host
		}
		return "DNS resolution failed for " + e.Addr + ": C-ares status is not ARES_SUCCESS qtype=AAAA name=" + name +
			" is_balancer=0: Domain name not found"
	case why == older:
		return unreachable + "INTERNAL: " + peer(e) + ": Trying to connect an http1.x server"
	case why == foreign:
		return unreachable + "UNAVAILABLE: " + peer(e) + ": Socket closed"
	case why == handshake, why == certificate:
		return unreachable + "UNKNOWN: " + peer(e) + ": Ssl handshake failed: SSL_ERROR_SSL: " + handshakeReason(e.Err)
	case e.Class == record.Connect:
		return unreachable + "UNKNOWN: " + peer(e) + ": Failed to connect to remote host: " + connectReason(e.Err)
	case e.Class == record.Timeout:
		return "Deadline Exceeded"
	case e.Class == record.Protocol:
		return e.Error()
	case why == reset:
		return "recvmsg:Connection reset by peer"
	}
	return "Socket closed"
}

// handshakeReason is OpenSSL's message for a failed handshake.
func handshakeReason(err error) string {
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return "error:0A00010B:SSL routines::wrong version number"
	case plainCause(err) == certificate:
		return "error:0A000086:SSL routines::certificate verify failed"
	}
	return err.Error()
}

// connectReason is the system's message for a failed connection, with a capital as in the C library.
func connectReason(err error) string {
	var errno syscall.Errno
	switch {
	case causeOf(err) == late:
		return "Timeout occurred: FD Shutdown"
	case errors.As(err, &errno):
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return "Connection refused"
}

// peer returns the address in the form of gRPC's C core: ipv4:127.0.0.1:8001, or ipv6:%5B::1%5D:8001. It is the dialed address if the
// cause names it, else the given one.
func peer(e *service.Error) string {
	addr := e.Addr
	if op, ok := errors.AsType[*net.OpError](e.Err); ok && op.Addr != nil {
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
