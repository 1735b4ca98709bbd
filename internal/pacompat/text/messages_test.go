package text_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

func TestMessages(t *testing.T) {
	p := simplePlan()
	p.Measure.LatencyLimit = 30 * time.Millisecond
	f := func(got, want string) { t.Helper(); same(t, want, got, want) }
	l := &result.Level{Mode: plan.Concurrency, Concurrency: 8}
	f(text.Unstable(p, l), "Failed to obtain stable measurement within 3 measurement windows for concurrency 8. Please try to increase the --measurement-interval.")
	p.Measure.Window = plan.CountWindows
	f(text.Unstable(p, l), "Failed to obtain stable measurement within 3 measurement windows for concurrency 8. Please try to increase the --measurement-request-count.")
	l.Mode = plan.RequestRate
	f(text.Unstable(p, l), "Failed to obtain stable measurement.")
	f(text.OverLimit(p), "Measured latency went over the set limit of 30 msec. ")
	f(text.MultipleVersions("m"), "WARNING: Multiple versions of model m are loaded in the triton server, and the version to use was unspecified. The stats for that model may be inaccurate.")
	f(text.MetricMissing("nv_gpu_utilization"), "WARNING: Unable to parse 'nv_gpu_utilization' metric.")
	f(text.MetricsSlow(12, 10), "WARNING: Triton metrics endpoint latency (12ms) is larger than the querying interval (10ms). Please try a larger querying interval via `--triton-metrics-interval`.")
	f(text.MetricsUnreachable("h:1"), "Unable to connect to Metrics endpoint h:1")
	f(text.Interrupted(2), "Interrupt signal (2) received.")
}

func TestFailedRunEndsAsTheOriginal(t *testing.T) {
	c, _, errs := console(simplePlan(), simpleModel())
	c.Async = true
	c.LoadFailed([]result.Failure{{Slot: 1, Text: "flaky: request 70 failed on purpose"}, {Slot: 0, Text: "flaky: request 80 failed on purpose"}, {Slot: 1, Text: "another"}})
	same(t, "async", errs.String(), `Failed to retrieve results from inference request.
Thread [0] had error: flaky: request 80 failed on purpose

Thread [1] had error: flaky: request 70 failed on purpose


`)
	errs.Reset()
	c.Async = false
	c.LoadFailed([]result.Failure{{Text: "Output doesn't match expected output"}})
	same(t, "sync", errs.String(), `Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.
Thread [0] had error: Output doesn't match expected output


`)
	errs.Reset()
	c.StartFailed("failed to get model metadata", "HTTP client failed: Couldn't connect to server")
	c.End(text.UnstableEnd)
	same(t, "start and end", errs.String(), "error: failed to get model metadata: HTTP client failed: Couldn't connect to server\n\nFailed to obtain stable measurement.\n\n")
}

func TestErrorText(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 19999}, Err: syscall.ECONNREFUSED}
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nohost", IsNotFound: true}}
	f := func(p plan.Protocol, e *service.Error, want string) {
		t.Helper()
		same(t, want, text.ErrorText(e, p), want)
	}
	http := func(class record.Class, cause error, want string) {
		t.Helper()
		f(plan.HTTP, &service.Error{Class: class, Err: cause, Addr: "localhost:8000"}, "HTTP client failed: "+want)
	}
	http(record.Connect, refused, "Couldn't connect to server")
	http(record.Connect, lookup, "Couldn't resolve host name")
	http(record.Connect, context.DeadlineExceeded, "Timeout was reached")
	http(record.Protocol, &neterr.Error{Kind: neterr.NotHTTP}, "Unsupported protocol")
	http(record.Transport, &neterr.Error{Kind: neterr.Closed, Err: io.EOF}, "Server returned nothing (no headers, no data)")
	http(record.Transport, &neterr.Error{Kind: neterr.Truncated, Err: io.EOF}, "Transferred a partial file")
	http(record.Transport, &neterr.Error{Kind: neterr.Reset, Err: syscall.ECONNRESET}, "Failure when receiving data from the peer")
	http(record.Connect, &neterr.Error{Kind: neterr.Resolve}, "Couldn't resolve host name")
	http(record.Connect, &neterr.Error{Kind: neterr.Refused, Err: refused}, "Couldn't connect to server")
	http(record.Connect, &neterr.Error{Kind: neterr.Handshake, Err: errors.New("no cipher")}, "SSL connect error")
	http(record.Connect, &neterr.Error{Kind: neterr.Handshake, Err: x509.UnknownAuthorityError{}}, "SSL peer certificate or SSH remote key was not OK")
	http(record.Transport, io.EOF, "Server returned nothing (no headers, no data)")
	http(record.Transport, io.ErrUnexpectedEOF, "Transferred a partial file")
	http(record.Transport, syscall.ECONNRESET, "Failure when receiving data from the peer")
	http(record.Transport, syscall.EPIPE, "Failed sending data to the peer")
	http(record.Timeout, nil, "Timeout was reached")
	f(plan.HTTP, &service.Error{Op: "infer", Class: record.Transport, Err: syscall.ECONNRESET},
		"HTTP client failed: Send failed since rewinding of the data stream failed")
	f(plan.HTTP, &service.Error{Class: record.Protocol, Code: 200, Text: "bad JSON"}, "bad JSON")

	const all = "failed to connect to all addresses; last error: "
	f(plan.GRPC, &service.Error{Class: record.Connect, Err: refused, Addr: "127.0.0.1:19999"},
		all+"UNKNOWN: ipv4:127.0.0.1:19999: Failed to connect to remote host: Connection refused")
	f(plan.GRPC, &service.Error{Class: record.Connect, Err: syscall.ENETUNREACH, Addr: "[::1]:19999"},
		all+"UNKNOWN: ipv6:%5B::1%5D:19999: Failed to connect to remote host: Network is unreachable")
	f(plan.GRPC, &service.Error{Class: record.Connect, Err: lookup, Addr: "nohost:8001"},
		"DNS resolution failed for nohost:8001: C-ares status is not ARES_SUCCESS qtype=AAAA name=nohost is_balancer=0: Domain name not found")
	f(plan.GRPC, &service.Error{Class: record.Connect, Addr: "http://127.0.0.1:18001"},
		"DNS resolution failed for http://127.0.0.1:18001: C-ares status is not ARES_SUCCESS qtype=AAAA name=http://127.0.0.1:18001 is_balancer=0: Domain name not found")
	f(plan.GRPC, &service.Error{Class: record.Protocol, Addr: "localhost:18000", Err: &neterr.Error{Kind: neterr.NotHTTP}}, all+"UNAVAILABLE: ipv4:127.0.0.1:18000: Socket closed")
	f(plan.GRPC, &service.Error{Class: record.Protocol, Addr: "localhost:9000", Err: &neterr.Error{Kind: neterr.NotHTTP, Err: neterr.ErrHTTP1}},
		all+"INTERNAL: ipv4:127.0.0.1:9000: Trying to connect an http1.x server")
	f(plan.GRPC, &service.Error{Class: record.Connect, Addr: "127.0.0.1:8001", Err: &neterr.Error{Kind: neterr.Handshake, Err: tls.RecordHeaderError{}}},
		all+"UNKNOWN: ipv4:127.0.0.1:8001: Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number")
	const curl = "HTTP client failed: "
	f(plan.GRPC, &service.Error{Class: record.Server, Code: 12, Text: "status 12 and no message", Err: service.ErrNoMessage}, "")
	f(plan.HTTP, &service.Error{Class: record.Connect, Err: service.ErrAddress}, curl+"URL using bad/illegal format or missing URL")
	f(plan.HTTP, &service.Error{Class: record.Connect, Err: service.ErrScheme}, curl+"Unsupported protocol")
	f(plan.HTTP, &service.Error{Class: record.Connect, Err: service.ErrAuthorities}, curl+"Problem with the SSL CA cert (path? access rights?)")
	f(plan.HTTP, &service.Error{Class: record.Connect, Err: service.ErrCertificate}, curl+"Problem with the local SSL certificate")
	f(plan.HTTP, &service.Error{Class: record.Protocol, Err: &jsonscan.SyntaxError{Code: jsonscan.Empty}}, "failed to parse JSON at0: The document is empty.")
	f(plan.HTTP, &service.Error{Class: record.Server, Err: &jsonscan.SyntaxError{Code: jsonscan.Trailing, Offset: 3}},
		"failed to parse the request JSON buffer: The document root must not be followed by other values. at 3")
	f(plan.GRPC, &service.Error{Class: record.Transport, Err: syscall.ECONNRESET}, "recvmsg:Connection reset by peer")
	f(plan.GRPC, &service.Error{Class: record.Transport, Err: io.EOF}, "Socket closed")
	f(plan.GRPC, &service.Error{Class: record.Transport, Err: &neterr.Error{Kind: neterr.Closed, Err: io.EOF}}, "Socket closed")
	f(plan.GRPC, &service.Error{Class: record.Connect, Err: &neterr.Error{Kind: neterr.Timeout}, Addr: "10.0.0.1:1"},
		all+"UNKNOWN: ipv4:10.0.0.1:1: Failed to connect to remote host: Timeout occurred: FD Shutdown")
	f(plan.GRPC, &service.Error{Class: record.Protocol, Err: &neterr.Error{Kind: neterr.Malformed, Text: "frame too large"}}, "frame too large")
	f(plan.GRPC, &service.Error{Class: record.Timeout}, "Deadline Exceeded")

	for _, p := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		f(p, &service.Error{Class: record.Server, Code: 400, Text: "Request for unknown model: 'x' is not found"}, "Request for unknown model: 'x' is not found")
		f(p, &service.Error{Class: record.Mismatch, Text: "OUTPUT0[3] is 4, want 5"}, "Output doesn't match expected output")
		f(p, &service.Error{Class: record.Mismatch, Err: service.OutputSize.With()}, "Output size doesn't match expected size")
	}
	f("", &service.Error{Class: record.Mismatch, Text: "OUTPUT0[3] is 4, want 5"}, "Output size doesn't match expected size")
	same(t, "another error", text.ErrorText(errors.New("plain"), plan.HTTP), "plain")
}

func TestAsyncErrorText(t *testing.T) {
	dead := &service.Error{Class: record.Transport, Err: io.EOF}
	same(t, "HTTP", text.AsyncErrorText(dead, plan.HTTP), "failed to parse the request JSON buffer: The document is empty. at 0")
	same(t, "gRPC", text.AsyncErrorText(dead, plan.GRPC), "Socket closed")
	same(t, "server", text.AsyncErrorText(&service.Error{Class: record.Server, Text: "no"}, plan.HTTP), "no")
}

func TestStartText(t *testing.T) {
	f := func(op, want string) {
		t.Helper()
		what, detail := text.StartText(&service.Error{Op: op, Class: record.Server, Text: "no"}, plan.HTTP)
		same(t, op, what+": "+detail, want+": no")
	}
	f("model metadata", "failed to get model metadata")
	f("connect", "failed to get model metadata")
	f("model config", "failed to get model config")
	f("model parser", "failed to create model parser")
	f("server metadata", "unable to get server metadata")
}
