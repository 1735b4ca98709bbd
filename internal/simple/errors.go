package simple

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// statusNames are the names of gRPC codes as Python's client writes them.
var statusNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", //nolint:misspell // the protocol spells it so
	"INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// Explain returns the message of simple_perf_client.py for a failure, in one line. early: the server refused to describe the
// model or, with gRPC, could not be reached; simple_perf_client.py prints this on standard output.
func Explain(err error, proto plan.Protocol) (text string, early bool) {
	e, ok := errors.AsType[*service.Error](err)
	if !ok {
		return cleantext.Line(err.Error()), false
	}
	what := "inference failed: "
	answered := proto == plan.GRPC || e.Code >= 400
	switch e.Op {
	case "model metadata":
		what, early = "failed to retrieve the metadata: ", answered
	case "model config":
		what, early = "failed to retrieve the config: ", answered
	case "infer":
	default:
		what = e.Op + ": "
	}
	return cleantext.Line(what + reason(e, proto)), early
}

func reason(e *service.Error, proto plan.Protocol) string {
	text := e.Error()
	errno, refused := errors.AsType[syscall.Errno](e)
	switch {
	case proto == plan.GRPC && e.Code > 0 && e.Code < len(statusNames):
		if refused && e.Class == record.Connect {
			text = fmt.Sprintf("failed to connect to all addresses; last error: UNKNOWN: %s: Failed to connect to remote host: connect: %s (%d)",
				peer(e), words(errno), int(errno))
		}
		return fmt.Sprintf("[StatusCode.%s] %s", statusNames[e.Code], text)
	case proto == plan.HTTP && e.Code >= 400:
		return fmt.Sprintf("[%d] %s", e.Code, text)
	case refused && e.Class == record.Connect:
		return fmt.Sprintf("[Errno %d] %s (is the server at %s?)", int(errno), words(errno), e.Addr)
	}
	return text
}

// words returns the system's message for an error, with a capital as in C.
func words(e syscall.Errno) string {
	text := e.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// peer returns the address of the failed connection in gRPC's form.
func peer(e *service.Error) string {
	addr := e.Addr
	if op, ok := errors.AsType[*net.OpError](e); ok && op.Addr != nil {
		addr = op.Addr.String()
	}
	if strings.HasPrefix(addr, "[") {
		return "ipv6:" + strings.NewReplacer("[", "%5B", "]", "%5D").Replace(addr)
	}
	return "ipv4:" + addr
}
